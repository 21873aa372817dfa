import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Option from "effect/Option"

/**
 * Waits for an effect, but no longer than the budget. It also works in a finalizer, where interruption is off: there a plain
 * timeout would wait for what it should cut short. And an interrupt that comes meanwhile, for the scope or for whoever closes
 * it, does not cut it short either: it would reach the children of a fiber that is itself beyond its reach, so this is none
 * of them. The budget ends it.
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
