/**
 * Takes work in turns: so many at a time, in the order in which they came. A turn that has lasted long enough ends, and its work
 * goes on beside the others: what is slow, and waits more than it works, does not keep the others waiting. And a turn has a
 * shortest length, so that work that ends at once, and comes again and again, does not take all the time there is.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as CallQueue from "../calls/CallQueue.js"

export interface Turns {
  /** Waits for a turn, and runs the effect in it. It can be interrupted at any time. */
  readonly take: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The clock of a turn ends with the scope. */
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
