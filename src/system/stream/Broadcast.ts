/**
 * Turns values from callbacks into a stream for any number of readers. Publishing never waits for a slow reader: the values that
 * wait for a reader are limited, and the oldest are dropped.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface Broadcast<A> {
  readonly publish: (value: A) => void
  /** Ends all streams after the values that wait in them. */
  readonly end: () => void
  /** The values published from now on. With `early`, the first reader also gets the values published before. */
  readonly subscribe: Effect.Effect<Stream.Stream<A>, never, Scope.Scope>
  /** Subscribes when the stream starts. */
  readonly stream: Stream.Stream<A>
}

/** The values that wait for one reader. */
interface ReaderInbox<A> {
  readonly waiting: Map<unknown, A>
  /** The total length of the keys. */
  characters: number
  readonly latch: Effect.Latch
}

/** Limit for the total length of the keys that wait for one reader: values are about as long as their keys. */
const maxCharacters = 1024 * 1024

const lengthOf = (key: unknown): number => (typeof key === "string" ? key.length : 0)

export const make = <A>(options: {
  /** How many values wait for a reader. Above this, or above 1 MiB of keys, the oldest values are dropped. */
  readonly capacity: number
  /** Only the newest of the values with the same key waits. Without it, all values wait. */
  readonly key?: ((value: A) => string) | undefined
  /** Whether values published before the first subscription wait for the first reader. */
  readonly early: boolean
}): Broadcast<A> => {
  const inboxes = new Set<ReaderInbox<A>>()
  const emptyInbox = (): ReaderInbox<A> => ({ waiting: new Map(), characters: 0, latch: Effect.unsafeMakeLatch() })
  let early: ReaderInbox<A> | undefined
  let keepsEarlyValues = options.early
  let isEnded = false

  const enqueue = (inbox: ReaderInbox<A>, value: A) => {
    const { latch, waiting } = inbox
    const key = options.key?.(value) ?? Symbol()
    const sizeBefore = waiting.size
    waiting.set(key, value)
    if (waiting.size > sizeBefore) inbox.characters += lengthOf(key)
    while (waiting.size > 1 && (waiting.size > options.capacity || inbox.characters > maxCharacters)) {
      const [oldest] = waiting.keys()
      waiting.delete(oldest)
      inbox.characters -= lengthOf(oldest)
    }
    latch.unsafeOpen()
  }

  const addInbox = Effect.sync(() => {
    const inbox = early ?? emptyInbox()
    early = undefined
    keepsEarlyValues = false
    inboxes.add(inbox)
    return inbox
  })

  const takeChunk = (inbox: ReaderInbox<A>): Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> =>
    Effect.suspend(() => {
      const { latch, waiting } = inbox
      if (waiting.size > 0) {
        const values = Chunk.fromIterable(waiting.values())
        waiting.clear()
        inbox.characters = 0
        return Effect.succeed(values)
      }
      if (isEnded) return Effect.fail(Option.none())
      latch.unsafeClose()
      return Effect.zipRight(latch.await, takeChunk(inbox))
    })

  const subscribe = Effect.map(
    Effect.acquireRelease(addInbox, (inbox) => Effect.sync(() => inboxes.delete(inbox))),
    (inbox) => Stream.repeatEffectChunkOption(takeChunk(inbox))
  )

  return {
    publish: (value) => {
      if (isEnded) return
      if (keepsEarlyValues) enqueue((early ??= emptyInbox()), value)
      for (const inbox of inboxes) enqueue(inbox, value)
    },
    end: () => {
      isEnded = true
      for (const { latch } of inboxes) latch.unsafeOpen()
    },
    subscribe,
    stream: Stream.unwrapScoped(subscribe)
  }
}
