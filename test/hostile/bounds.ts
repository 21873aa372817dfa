/**
 * The limits of time and memory. `npm run break` measures on an idle machine. CI machines are busy and run many floods at once, so
 * the times there only distinguish "blocked" from "not blocked". The page of guarantees shows both.
 */

export interface CatalogueBounds {
  /** The memory of the supervisor. */
  readonly megabytes: number
  /** A call to the correct server. */
  readonly goodMs: number
  /** The shutdown. */
  readonly closeMs: number
}

export interface FloodBounds {
  /** 99 of 100 calls to the correct server. */
  readonly goodMs: number
  /** Stopping the flooding servers, and the shutdown while they flood. */
  readonly stopMs: number
  readonly megabytes: number
}

/** The shutdown budget of five seconds, and half a second for the program that requests it. */
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
