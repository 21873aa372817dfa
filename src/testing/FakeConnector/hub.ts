/**
 * Hands what is said to every reader, each at its own pace. Nobody who speaks ever waits.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface Hub<A> {
  readonly publish: (value: A) => void
  /** Readers get what is left, then the end. */
  readonly end: () => void
  /** Begins to listen; the stream gives what was said from then on. */
  readonly join: Effect.Effect<Stream.Stream<A>, never, Scope.Scope>
  readonly stream: Stream.Stream<A>
}

interface Reader<A> {
  readonly pending: Map<unknown, A>
  wake: Deferred.Deferred<void> | undefined
}

export const makeHub = <A>(options: {
  /** Values of the same key that are not read yet count as one, the newest. Absent: each counts. */
  readonly key?: (value: A) => string
  /** What is unread beyond this is dropped, oldest first. */
  readonly capacity: number
  /** Whether the first reader gets what was said before it came. */
  readonly backlog: boolean
}): Hub<A> => {
  const readers = new Set<Reader<A>>()
  let backlog: Reader<A> | undefined = options.backlog ? { pending: new Map(), wake: undefined } : undefined
  let ended = false

  const wake = (reader: Reader<A>) => {
    if (reader.wake === undefined) return
    Deferred.unsafeDone(reader.wake, Effect.void)
    reader.wake = undefined
  }

  const put = (reader: Reader<A>, value: A) => {
    const key = options.key === undefined ? Symbol("value") : options.key(value)
    reader.pending.delete(key)
    reader.pending.set(key, value)
    if (reader.pending.size > options.capacity) reader.pending.delete(reader.pending.keys().next().value)
    wake(reader)
  }

  const enter = Effect.sync(() => {
    const reader = backlog ?? { pending: new Map<unknown, A>(), wake: undefined }
    backlog = undefined
    readers.add(reader)
    return reader
  })

  const take = (reader: Reader<A>): Effect.Effect<A, Option.Option<never>> =>
    Effect.suspend(() => {
      for (const [key, value] of reader.pending) {
        reader.pending.delete(key)
        return Effect.succeed(value)
      }
      if (ended) return Effect.fail(Option.none())
      const deferred = Deferred.unsafeMake<void>(FiberId.none)
      reader.wake = deferred
      return Effect.zipRight(Deferred.await(deferred), take(reader))
    })

  const join = Effect.map(
    Effect.acquireRelease(enter, (reader) => Effect.sync(() => readers.delete(reader))),
    (reader) => Stream.repeatEffectOption(take(reader))
  )

  return {
    publish: (value) => {
      if (ended) return
      if (backlog !== undefined) put(backlog, value)
      for (const reader of readers) put(reader, value)
    },
    end: () => {
      ended = true
      for (const reader of readers) wake(reader)
    },
    join,
    stream: Stream.unwrapScoped(join)
  }
}
