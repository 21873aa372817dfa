/**
 * Lets so many in at a time and the others wait in line, first come, first served.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export interface CallQueue {
  /** Whether one could go in at once; then one has. */
  readonly tryEnter: () => boolean
  /**
   * Waits in line for so many milliseconds, unless the line is too long. To be run where it cannot be interrupted: only the
   * wait itself can, by `restore`, so that nobody who is in goes without knowing.
   */
  readonly enter: (patience: number, restore: Restore) => Effect.Effect<"in" | "full" | "late">
  /** Each who went in has to leave once. */
  readonly leave: () => void
  readonly resize: (limit: number) => void
  readonly waiting: () => number
}

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Place {
  admit: () => void
  giveUp: () => void
  admitted: boolean
}

export const make = (limit: number, maxWaiting: number): CallQueue => {
  const line = new Set<Place>()
  let inside = 0

  const admitNext = () => {
    for (const place of line) {
      if (inside >= limit) return
      line.delete(place)
      inside += 1
      place.admitted = true
      place.admit()
    }
  }

  const leave = () => {
    inside -= 1
    admitNext()
  }

  const tryEnter = () => {
    if (inside >= limit || line.size > 0) return false
    inside += 1
    return true
  }

  const wait = (patience: number, restore: Restore): Effect.Effect<"in" | "late"> =>
    Effect.gen(function* () {
      const place: Place = { admit: () => {}, giveUp: () => {}, admitted: false }
      const timer = Number.isFinite(patience)
        ? yield* Effect.fork(
            Effect.interruptible(
              Effect.delay(
                Effect.sync(() => place.giveUp()),
                patience
              )
            )
          )
        : undefined
      const waiting = Effect.async<"in" | "late">((resume) => {
        place.admit = () => resume(Effect.succeed("in"))
        // whoever is admitted at the last moment is in
        place.giveUp = () => {
          if (line.delete(place)) resume(Effect.succeed("late"))
        }
        line.add(place)
      })
      // an interrupt may come after it was admitted and before it knows
      const gone = Effect.sync(() => {
        if (place.admitted) leave()
        else line.delete(place)
      })
      const stop = timer === undefined ? Effect.void : Fiber.interruptFork(timer)
      return yield* restore(waiting).pipe(
        Effect.onInterrupt(() => gone),
        Effect.ensuring(stop)
      )
    })

  return {
    tryEnter,
    enter: (patience, restore) =>
      Effect.suspend(() => {
        if (tryEnter()) return Effect.succeed("in")
        return line.size >= maxWaiting ? Effect.succeed("full") : wait(patience, restore)
      }),
    leave,
    resize: (next) => {
      limit = next
      admitNext()
    },
    waiting: () => line.size
  }
}
