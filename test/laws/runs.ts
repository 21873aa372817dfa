/** The number of cases of a law. `LAWS=50 npm run test:fast` checks each with fifty times as many. */
export const runs = (numRuns: number) => ({ numRuns: Math.max(1, Math.round(numRuns * Number(process.env.LAWS ?? 1))) })

/** Lets the event loop turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
