/**
 * Limits how long an effect is awaited, also in a finalizer.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

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

/** A pause of this process counts as one step of a budget. */
const steps = 10

/**
 * Waits for an effect until the budget is used up, and then returns without it. Time in which this process did not run counts
 * for a tenth of the budget at most: after a suspension or a long computation, timers fire before input is read, and a plain
 * timeout would end an operation whose result has already arrived. Both sides of the race can be interrupted even if the caller
 * cannot: an uninterruptible caller would otherwise wait for the slower one.
 */
export const timeoutWhileRunning =
  (budget: Duration.DurationInput) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.raceFirst(
      Effect.asSome(Effect.disconnect(effect)),
      Effect.as(Effect.repeatN(Effect.sleep(Duration.times(budget, 1 / steps)), steps - 1), Option.none())
    ).pipe(Effect.interruptible, Effect.disconnect)
