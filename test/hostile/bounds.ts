/**
 * How long and how much is too much. `npm run break` measures on a machine that does nothing else. CI shares its machines and
 * runs many floods at once, so its times only tell "blocked" from "not blocked". The page of guarantees shows both.
 */

export interface CatalogueBounds {
  /** Of the supervisor. */
  readonly megabytes: number
  /** For a call to the good server. */
  readonly goodMs: number
  /** For the shutdown. */
  readonly closeMs: number
}

export interface FloodBounds {
  /** For a call to the good server: 99 of 100. */
  readonly goodMs: number
  /** For ending the servers that flood, and for the shutdown while they do. */
  readonly stopMs: number
  readonly megabytes: number
}

/** The shutdown budget of five seconds, and half a second for the program that asks for it. */
const shutdown = 5_500

export const measured = {
  catalogue: { megabytes: 600, goodMs: 5_000, closeMs: 6_500 },
  floods: (quietP99: number): FloodBounds => ({
    goodMs: Math.max(250, 3 * quietP99),
    stopMs: shutdown,
    megabytes: 300
  })
} as const

export const ci = {
  catalogue: { megabytes: 700, goodMs: 15_000, closeMs: 12_000 },
  floods: { goodMs: 10_000, stopMs: 8_000, megabytes: 450 }
} as const
