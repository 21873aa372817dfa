/**
 * What callbacks say, as a stream for any number of readers. Nobody waits for a slow reader: what waits for it is bounded.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface Broadcast<A> {
  readonly publish: (value: A) => void
  /** Ends all streams, after what waits in them. */
  readonly end: () => void
  /** What is said from now on, and for the first reader also what was said before, if it is kept. */
  readonly subscribe: Effect.Effect<Stream.Stream<A>, never, Scope.Scope>
  /** The same from the moment it is read. */
  readonly stream: Stream.Stream<A>
}

/** What waits for one reader. */
interface Inbox<A> {
  readonly waiting: Map<unknown, A>
  readonly latch: Effect.Latch
}

export const make = <A>(options: {
  /** How many values wait for a reader. Beyond that it misses the oldest. */
  readonly capacity: number
  /** Of the values with the same key only the newest waits. Without it, all do. */
  readonly key?: ((value: A) => string) | undefined
  /** Whether what is said before anybody listens is kept for the first who does. */
  readonly early: boolean
}): Broadcast<A> => {
  const inboxes = new Set<Inbox<A>>()
  const emptyInbox = (): Inbox<A> => ({ waiting: new Map(), latch: Effect.unsafeMakeLatch() })
  let early: Inbox<A> | undefined
  let isEarly = options.early
  let ended = false

  const put = ({ latch, waiting }: Inbox<A>, value: A) => {
    const key = options.key?.(value) ?? Symbol()
    waiting.set(key, value)
    if (waiting.size > options.capacity) waiting.delete(waiting.keys().next().value)
    latch.unsafeOpen()
  }

  const enter = Effect.sync(() => {
    const inbox = early ?? emptyInbox()
    early = undefined
    isEarly = false
    inboxes.add(inbox)
    return inbox
  })

  const take = ({ latch, waiting }: Inbox<A>): Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> =>
    Effect.suspend(() => {
      if (waiting.size > 0) {
        const values = Chunk.fromIterable(waiting.values())
        waiting.clear()
        return Effect.succeed(values)
      }
      if (ended) return Effect.fail(Option.none())
      latch.unsafeClose()
      return Effect.zipRight(latch.await, take({ latch, waiting }))
    })

  const subscribe = Effect.map(
    Effect.acquireRelease(enter, (inbox) => Effect.sync(() => inboxes.delete(inbox))),
    (inbox) => Stream.repeatEffectChunkOption(take(inbox))
  )

  return {
    publish: (value) => {
      if (ended) return
      if (isEarly) put((early ??= emptyInbox()), value)
      for (const inbox of inboxes) put(inbox, value)
    },
    end: () => {
      ended = true
      for (const { latch } of inboxes) latch.unsafeOpen()
    },
    subscribe,
    stream: Stream.unwrapScoped(subscribe)
  }
}
