/**
 * Limits how many effects run at a time, in order of arrival. A turn ends after its longest duration, and its effect
 * continues beside the others: a slow effect that mostly waits does not block the others. A turn also has a shortest
 * duration, so that effects that end at once and are repeated do not take all CPU time.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as CallQueue from "../calls/CallQueue.js"

export interface Turns {
  /** Waits for a turn and runs the effect in it. Interruptible at any time. */
  readonly take: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The timers of the turns end with the scope. */
export const make = (options: {
  readonly atOnce: number
  readonly shortest: Duration.DurationInput
  readonly longest: Duration.DurationInput
}): Effect.Effect<Turns, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const gate = CallQueue.make(options.atOnce, Number.POSITIVE_INFINITY)
    const shortest = Duration.toMillis(options.shortest)
    const rest = Duration.toMillis(options.longest) - shortest

    return {
      take: (effect) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            yield* gate.enter(Number.POSITIVE_INFINITY, restore)
            let isInside = true
            let isShort = shortest > 0
            let isDone = false
            const leave = Effect.sync(() => {
              if (isInside) gate.leave()
              isInside = false
            })
            const clock = yield* Effect.suspend(() => {
              isShort = false
              return isDone ? Effect.void : Effect.sleep(rest)
            }).pipe(Effect.delay(shortest), Effect.zipRight(leave), Effect.interruptible, Effect.forkIn(scope))
            const done = Effect.suspend(() => {
              isDone = true
              return isShort ? Effect.void : Effect.zipRight(leave, Fiber.interruptFork(clock))
            })
            return yield* Effect.ensuring(restore(effect), done)
          })
        )
    }
  })
