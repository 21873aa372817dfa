/**
 * Renews tokens before they expire.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Random from "effect/Random"
import type { AuthContext } from "../AuthContext.js"
import { isUnavailable } from "../authErrors.js"
import { type LoginTarget, tokensOf } from "../login/LoginTarget.js"
import { renew } from "./Renewal.js"

/** A token is renewed at most this many milliseconds before it expires. */
const longestLead = 5 * 60_000

/** Milliseconds between two renewals. */
const shortestPause = 1000
const longestPause = 60_000

/** A lifetime, in milliseconds, below which the pause between renewals grows. */
const shortLifetime = 10_000

/** Milliseconds. Timers cannot be much longer, and the clock may be set in the meantime. */
const longestSleep = 6 * 60 * 60_000

interface RenewalAttempts {
  /** Renewals in a row that failed because a service was unavailable. */
  failures: number
  /** Tokens in a row with a short lifetime. An unused server must not renew them all the time. */
  shortLived: number
  /** Whether the last renewal was rejected. Then only another token is renewed. */
  isRejected: boolean
}

/** Milliseconds until the next renewal. A random part keeps processes from renewing at the same moment. */
const waitBefore = (remaining: number, { failures, shortLived }: Readonly<RenewalAttempts>, random: number): number => {
  if (failures > 0) return Math.min(shortestPause * 2 ** failures, longestPause) * (0.5 + random)
  const lead = Math.min(remaining * 0.2, longestLead) * (0.5 + random)
  return Math.max(remaining - lead, Math.min(shortestPause * 2 ** shortLived, longestPause))
}

/** Renews the tokens of a login before they expire, and retries while the authorization server is unavailable. */
export const keepFresh = (context: AuthContext, target: LoginTarget): Effect.Effect<never> =>
  Effect.gen(function* () {
    const loginState = context.loginState(target)
    const attempts: RenewalAttempts = { failures: 0, shortLived: 0, isRejected: false }
    while (true) {
      const tokens = tokensOf(target, loginState.credential())
      if (tokens?.expiresAt === undefined || !target.grant.isRenewable(tokens) || attempts.isRejected) {
        yield* loginState.tokenChanged
        attempts.isRejected = false
        continue
      }
      const remaining = tokens.expiresAt - (yield* Clock.currentTimeMillis)
      const wait = waitBefore(remaining, attempts, yield* Random.next)
      const isChanged = yield* Effect.raceFirst(
        Effect.as(Effect.sleep(Math.min(wait, longestSleep)), false),
        Effect.as(loginState.tokenChanged, true)
      )
      if (isChanged) attempts.failures = 0
      if (isChanged || wait > longestSleep) continue
      const result = yield* Effect.either(renew(context, target, tokens.accessToken))
      const isOutage = Either.isLeft(result) && isUnavailable(result.left)
      attempts.failures = isOutage ? attempts.failures + 1 : 0
      attempts.isRejected = Either.isLeft(result) && !isOutage
      attempts.shortLived = remaining < shortLifetime ? attempts.shortLived + 1 : 0
    }
  })
