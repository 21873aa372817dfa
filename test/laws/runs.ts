/** How often a law is tried. `LAWS=50 npm run test:fast` tries each fifty times as often. */
export const runs = (numRuns: number) => ({ numRuns: Math.max(1, Math.round(numRuns * Number(process.env.LAWS ?? 1))) })
