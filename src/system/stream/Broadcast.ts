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
  /** Characters of the keys. */
  characters: number
  readonly latch: Effect.Latch
}

/** Characters of the keys of what waits for one reader: values are about as long as their keys. */
const maxCharacters = 1024 * 1024

const lengthOf = (key: unknown): number => (typeof key === "string" ? key.length : 0)

export const make = <A>(options: {
  /** How many values wait for a reader. Beyond that, and beyond 1 MiB of keys, it misses the oldest. */
  readonly capacity: number
  /** Of the values with the same key only the newest waits. Without it, all do. */
  readonly key?: ((value: A) => string) | undefined
  /** Whether what is said before anybody listens is kept for the first who does. */
  readonly early: boolean
}): Broadcast<A> => {
  const inboxes = new Set<Inbox<A>>()
  const emptyInbox = (): Inbox<A> => ({ waiting: new Map(), characters: 0, latch: Effect.unsafeMakeLatch() })
  let early: Inbox<A> | undefined
  let isEarly = options.early
  let ended = false

  const put = (inbox: Inbox<A>, value: A) => {
    const { latch, waiting } = inbox
    const key = options.key?.(value) ?? Symbol()
    const before = waiting.size
    waiting.set(key, value)
    if (waiting.size > before) inbox.characters += lengthOf(key)
    while (waiting.size > 1 && (waiting.size > options.capacity || inbox.characters > maxCharacters)) {
      const [oldest] = waiting.keys()
      waiting.delete(oldest)
      inbox.characters -= lengthOf(oldest)
    }
    latch.unsafeOpen()
  }

  const enter = Effect.sync(() => {
    const inbox = early ?? emptyInbox()
    early = undefined
    isEarly = false
    inboxes.add(inbox)
    return inbox
  })

  const take = (inbox: Inbox<A>): Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> =>
    Effect.suspend(() => {
      const { latch, waiting } = inbox
      if (waiting.size > 0) {
        const values = Chunk.fromIterable(waiting.values())
        waiting.clear()
        inbox.characters = 0
        return Effect.succeed(values)
      }
      if (ended) return Effect.fail(Option.none())
      latch.unsafeClose()
      return Effect.zipRight(latch.await, take(inbox))
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
