/**
 * A mutable value that callers can read, follow as a stream, or wait on.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Broadcast from "./Broadcast.js"

export interface StateCell<A> {
  readonly get: () => A
  readonly set: (value: A) => void
  /** The current value, then each change; a slow reader gets only the newest. Ends with the cell. */
  readonly changes: Stream.Stream<A>
  /**
   * Waits until `pick` returns a result for the current value or a later one. It is called with every value that is set. Fails if
   * the cell ends first.
   */
  readonly until: <B>(pick: (value: A) => B | undefined) => Effect.Effect<B, "ended">
  /** Ends all streams and waits. The value can still be set and read. */
  readonly end: () => void
}

/** A value that is computed when it is read, and only if its inputs changed since the last read. */
export interface Derived<A> extends Pick<StateCell<A>, "get" | "changes" | "end"> {
  /** Marks the value as changed. */
  readonly touch: () => void
}

export const derived = <A>(compute: () => A): Derived<A> => {
  const broadcast = Broadcast.make<"touched">({ capacity: 1, key: () => "value", early: false })
  let current: { readonly value: A } | undefined
  const get = () => (current ??= { value: compute() }).value
  return {
    get,
    touch: () => {
      current = undefined
      broadcast.publish("touched")
    },
    changes: Stream.unwrapScoped(
      Effect.map(broadcast.subscribe, (rest) =>
        Stream.suspend(() => Stream.make(get())).pipe(
          Stream.concat(Stream.map(rest, get)),
          Stream.changesWith(Object.is)
        )
      )
    ),
    end: broadcast.end
  }
}

export const make = <A>(initial: A): StateCell<A> => {
  /** Created with the first reader: there are thousands of cells that are never followed. */
  let broadcast: Broadcast.Broadcast<A> | undefined
  const openBroadcast = () => {
    broadcast ??= Broadcast.make<A>({ capacity: 1, key: () => "value", early: false })
    if (isEnded) broadcast.end()
    return broadcast
  }
  const waiting = new Set<(value: A) => void>()
  const endWaits = new Set<() => void>()
  let current = initial
  let isEnded = false

  return {
    get: () => current,
    set: (value) => {
      current = value
      if (isEnded) return
      broadcast?.publish(value)
      for (const check of waiting) check(value)
    },
    get changes() {
      return Stream.unwrapScoped(
        Effect.map(
          Effect.suspend(() => openBroadcast().subscribe),
          (rest) =>
            Stream.suspend(() => Stream.make(current)).pipe(
              Stream.concat(rest),
              // a value that is set between subscribing and reading arrives twice
              Stream.changesWith(Object.is)
            )
        )
      )
    },
    until: <B>(pick: (value: A) => B | undefined) =>
      Effect.async<B, "ended">((resume) => {
        const now = pick(current)
        if (now !== undefined) return resume(Effect.succeed(now))
        if (isEnded) return resume(Effect.fail("ended"))
        const stopWaiting = () => {
          waiting.delete(check)
          endWaits.delete(fail)
        }
        const check = (value: A) => {
          const picked = pick(value)
          if (picked === undefined) return
          stopWaiting()
          resume(Effect.succeed(picked))
        }
        const fail = () => {
          stopWaiting()
          resume(Effect.fail("ended"))
        }
        waiting.add(check)
        endWaits.add(fail)
        return Effect.sync(stopWaiting)
      }),
    end: () => {
      if (isEnded) return
      isEnded = true
      broadcast?.end()
      for (const fail of endWaits) fail()
    }
  }
}
