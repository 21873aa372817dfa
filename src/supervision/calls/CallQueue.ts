/**
 * A queue that admits a limited number of callers at a time, first come, first served.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export interface CallQueue {
  /** Admits the caller if there is a free place and no queue. Returns whether it was admitted. */
  readonly tryEnter: () => boolean
  /**
   * Waits in the queue for at most `patience` milliseconds, unless the queue is full. Run it in an uninterruptible
   * region: only the wait itself is interruptible, by `restore`, so that an admitted caller always learns of its
   * admission.
   */
  readonly enter: (patience: number, restore: Restore) => Effect.Effect<"in" | "full" | "late">
  /** Frees a place. Each admitted caller has to call it exactly once. */
  readonly leave: () => void
  readonly resize: (limit: number) => void
  readonly waiting: () => number
}

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface QueuePlace {
  admit: () => void
  giveUp: () => void
  admitted: boolean
}

export const make = (limit: number, maxWaiting: number): CallQueue => {
  const line = new Set<QueuePlace>()
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
      const place: QueuePlace = { admit: () => {}, giveUp: () => {}, admitted: false }
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
        // A caller that is admitted at the last moment stays admitted.
        place.giveUp = () => {
          if (line.delete(place)) resume(Effect.succeed("late"))
        }
        line.add(place)
      })
      // An interrupt may arrive between the admission and the caller's resumption.
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
