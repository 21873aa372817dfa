/**
 * Limits how long an effect is awaited, also in a finalizer.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Option from "effect/Option"

/**
 * Waits for an effect, but no longer than the budget. It also works in a finalizer: interruption is disabled there, so a plain
 * timeout would wait for the effect it should interrupt. Only the budget ends the effect. An interrupt of the caller, or of the
 * fiber that closes the scope, does not: it would interrupt the children of an uninterruptible fiber, so the effect runs in a
 * daemon fiber.
 */
export const withinBudget =
  (budget: Duration.DurationInput) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    effect.pipe(
      Effect.disconnect,
      Effect.interruptible,
      Effect.timeoutOption(budget),
      Effect.forkDaemon,
      Effect.flatMap(Fiber.join),
      Effect.uninterruptible
    )
