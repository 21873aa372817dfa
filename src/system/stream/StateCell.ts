/**
 * A value that changes, for those who want to know it, follow it, or wait for something about it.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Broadcast from "./Broadcast.js"

export interface StateCell<A> {
  readonly get: () => A
  readonly set: (value: A) => void
  /** The current value first, then each change; a slow reader gets the newest. Ends when the cell does. */
  readonly changes: Stream.Stream<A>
  /**
   * What `pick` makes of the first value, now or later, of which it makes something. It sees every value that is set. Fails
   * if the cell ends before.
   */
  readonly until: <B>(pick: (value: A) => B | undefined) => Effect.Effect<B, "ended">
  /** Nobody is told anything any more. The value itself may still change. */
  readonly end: () => void
}

/** A value that is put together when it is asked for, and then only if something has changed since it was asked for last. */
export interface Derived<A> extends Pick<StateCell<A>, "get" | "changes" | "end"> {
  /** What it is made of has changed. */
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
  /** There are thousands of cells that are never followed. */
  let broadcast: Broadcast.Broadcast<A> | undefined
  const followed = () => {
    broadcast ??= Broadcast.make<A>({ capacity: 1, key: () => "value", early: false })
    if (ended) broadcast.end()
    return broadcast
  }
  const waiting = new Set<(value: A) => void>()
  const abandoned = new Set<() => void>()
  let current = initial
  let ended = false

  return {
    get: () => current,
    set: (value) => {
      current = value
      if (ended) return
      broadcast?.publish(value)
      for (const tell of waiting) tell(value)
    },
    get changes() {
      return Stream.unwrapScoped(
        Effect.map(
          Effect.suspend(() => followed().subscribe),
          (rest) =>
            Stream.suspend(() => Stream.make(current)).pipe(
              Stream.concat(rest),
              // what was set between subscribing and reading is there twice
              Stream.changesWith(Object.is)
            )
        )
      )
    },
    until: <B>(pick: (value: A) => B | undefined) =>
      Effect.async<B, "ended">((resume) => {
        const now = pick(current)
        if (now !== undefined) return resume(Effect.succeed(now))
        if (ended) return resume(Effect.fail("ended"))
        const leave = () => {
          waiting.delete(tell)
          abandoned.delete(end)
        }
        const tell = (value: A) => {
          const picked = pick(value)
          if (picked === undefined) return
          leave()
          resume(Effect.succeed(picked))
        }
        const end = () => {
          leave()
          resume(Effect.fail("ended"))
        }
        waiting.add(tell)
        abandoned.add(end)
        return Effect.sync(leave)
      }),
    end: () => {
      if (ended) return
      ended = true
      broadcast?.end()
      for (const tell of abandoned) tell()
    }
  }
}
