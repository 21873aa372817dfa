/**
 * Defines when a failed server is restarted, and the default policy. The policy is data, the delay a pure function of it.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import * as Schema from "effect/Schema"

/**
 * How often and how fast a server is restarted. All durations are milliseconds.
 *
 * @since 0.1.0
 * @category models
 */
export const RestartPolicy = Schema.Struct({
  /** Upper bound of the second delay of a streak; the first restart is immediate. Defaults to 500. */
  base: Schema.Finite.pipe(Schema.positive()),
  /** Growth of the upper bound from one delay to the next, at least 1. Defaults to 2. */
  factor: Schema.Finite.pipe(Schema.greaterThanOrEqualTo(1)),
  /** No delay is longer than this. Defaults to 60,000. */
  cap: Schema.Finite.pipe(Schema.positive()),
  /** Uptime after which the failure streak is reset. Defaults to 60,000. */
  stableAfter: Schema.Finite.pipe(Schema.positive()),
  /**
   * The greatest number of restarts within `window`. After more, the supervisor gives the server up; `Infinity` means never.
   * Defaults to 5 for local servers and `Infinity` for remote ones.
   */
  maxRestarts: Schema.Number.pipe(Schema.nonNegative()),
  /** The time over which restarts are counted. Defaults to 60,000. */
  window: Schema.Finite.pipe(Schema.positive()),
  /** How long the supervisor waits before it tries a server again that it gave up. Defaults to 300,000. */
  cooldown: Schema.Finite.pipe(Schema.positive())
}).annotations({ identifier: "RestartPolicy" })

/**
 * @since 0.1.0
 * @category models
 */
export type RestartPolicy = typeof RestartPolicy.Type

/**
 * The policy of a server without its own settings; `maxRestarts` is that of a remote server.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultPolicy: RestartPolicy = {
  base: 500,
  factor: 2,
  cap: 60_000,
  stableAfter: 60_000,
  maxRestarts: Number.POSITIVE_INFINITY,
  window: 60_000,
  cooldown: 300_000
}

/**
 * The longest `Retry-After` that is respected, in milliseconds.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxRetryAfter = 3_600_000

/**
 * The upper bound of the delay after the given failure of a streak: 0 for the first one, then growing by `factor` up to `cap`.
 * It never falls from one failure to the next.
 *
 * @since 0.1.0
 * @category delays
 */
export const ceiling = (policy: RestartPolicy, failures: number): number =>
  failures <= 1 ? 0 : Math.min(policy.cap, policy.base * policy.factor ** (failures - 2))

/**
 * The delay before the restart that follows the given failure of a streak: whole milliseconds, uniform between 0 and {@link
 * ceiling}, so that servers that failed together are not restarted together.
 *
 * @since 0.1.0
 * @category delays
 */
export const delay = (
  policy: RestartPolicy,
  failures: number,
  /** In [0, 1). */
  random: number
): number => Math.floor(ceiling(policy, failures) * random)

/**
 * Raises a delay to the `Retry-After` of the server, up to {@link maxRetryAfter}.
 *
 * @since 0.1.0
 * @category delays
 */
export const withRetryAfter = (delay: number, retryAfter: number | undefined): number =>
  Math.max(delay, Math.min(Math.ceil(retryAfter ?? 0), maxRetryAfter))

/**
 * The delay before an attempt is retried that failed because of a shortage on this machine: between one and two seconds after
 * the first, growing to between 8 and 16. It does not depend on the policy, which concerns the server.
 *
 * @since 0.1.0
 * @category delays
 */
export const shortageDelay = (
  /** Consecutive attempts that failed because of it, including this one. */
  shortages: number,
  /** In [0, 1). */
  random: number
): number => Math.floor(1000 * 2 ** Math.min(shortages - 1, 3) * (1 + random))

/**
 * The restarts within the window at the given time.
 *
 * @since 0.1.0
 * @category intensity
 */
export const recent = (policy: RestartPolicy, restarts: ReadonlyArray<number>, now: number): ReadonlyArray<number> =>
  restarts.filter((at) => at > now - policy.window)

/**
 * Whether another restart now would exceed the limit of the policy.
 *
 * @since 0.1.0
 * @category intensity
 */
export const isExhausted = (policy: RestartPolicy, restarts: ReadonlyArray<number>, now: number): boolean =>
  recent(policy, restarts, now).length >= policy.maxRestarts

/**
 * Converts a policy to a `Schedule`, to retry other effects with the delays of a server. It ends where a server would be given
 * up, and starts over after `stableAfter` without a failure. The supervisor does not use it: there, a restart is one decision
 * of the lifecycle, not a loop.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toSchedule = (policy: RestartPolicy): Schedule.Schedule<number> =>
  Schedule.makeWithState<Attempts, unknown, number>(
    { failures: 0, restarts: [], startedAt: Number.POSITIVE_INFINITY },
    (now, _, state) => {
      const failures = now - state.startedAt >= policy.stableAfter ? 1 : state.failures + 1
      if (isExhausted(policy, state.restarts, now)) return Either.right([state, failures, ScheduleDecision.done])
      const startedAt = now + ceiling(policy, failures)
      const next = { failures, startedAt, restarts: [...recent(policy, state.restarts, now), now] }
      return Either.right([next, failures, ScheduleDecision.continueWith(ScheduleInterval.after(startedAt))])
    }
  ).pipe(Schedule.jitteredWith({ min: 0, max: 1 }))

interface Attempts {
  readonly failures: number
  readonly restarts: ReadonlyArray<number>
  /** The latest time at which the last attempt started. */
  readonly startedAt: number
}
