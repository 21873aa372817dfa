import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/**
 * Waits for an effect, but no longer than the budget. This is the one order that also works where interruption is off, as
 * it is in a finalizer: there a plain timeout would wait for what it should cut short.
 */
export const withinBudget =
  (budget: Duration.DurationInput) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    effect.pipe(Effect.disconnect, Effect.interruptible, Effect.timeoutOption(budget))
