/**
 * The last so many values, or as many as have room, numbered from 1 without gaps. Each reader has its own place in it and takes what it wants when it
 * wants: nothing waits for a slow one, and nothing is kept for it alone.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

export interface ReplayLog<A> {
  readonly push: (value: A) => void
  /** The number the next value gets. */
  readonly next: () => number
  /** From the value of this number on, which is asked for when the stream starts. */
  readonly from: (first: () => number) => Stream.Stream<A>
  /** Ends all streams, after what is still there for them. */
  readonly end: () => void
}

/** How many values a reader takes at once. */
const chunkSize = 256

/** The room for all values together, and how much of it one takes. The newest value is kept however large it is. */
export interface Room<A> {
  readonly total: number
  readonly of: (value: A) => number
}

export const make = <A>(options: {
  readonly capacity: number
  /** Defaults to any. */
  readonly room?: Room<A> | undefined
  /** What a reader gets instead of what is no longer there. Nothing, if absent. */
  readonly missed?: ((from: number, to: number) => A) | undefined
}): ReplayLog<A> => {
  const { capacity, missed, room } = options
  const kept: Array<A | undefined> = []
  const sizes: Array<number> = []
  const waiting = new Set<() => void>()
  let next = 1
  let oldest = 1
  let taken = 0
  let ended = false

  const drop = () => {
    const place = oldest % capacity
    kept[place] = undefined
    taken -= sizes[place] ?? 0
    oldest += 1
  }

  const isFull = (total: number) => oldest < next && taken > total

  const wake = () => {
    const readers = [...waiting]
    waiting.clear()
    for (const resume of readers) resume()
  }

  const news = (reader: { readonly at: number }) =>
    Effect.async<void>((resume) => {
      // it may have come between the look and the wait
      if (ended || reader.at < next) return resume(Effect.void)
      const wakeUp = () => resume(Effect.void)
      waiting.add(wakeUp)
      return Effect.sync(() => waiting.delete(wakeUp))
    })

  const take = (reader: { at: number }): Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> =>
    Effect.suspend(() => {
      if (reader.at < oldest) {
        const from = reader.at
        reader.at = oldest
        if (missed !== undefined) return Effect.succeed(Chunk.of(missed(from, oldest - 1)))
      }
      if (reader.at < next) {
        const end = Math.min(next, reader.at + chunkSize)
        const values: Array<A> = []
        for (; reader.at < end; reader.at++) values.push(kept[reader.at % capacity] as A)
        return Effect.succeed(Chunk.unsafeFromArray(values))
      }
      return ended ? Effect.fail(Option.none()) : Effect.zipRight(news(reader), take(reader))
    })

  return {
    push: (value) => {
      if (ended) return
      if (next - oldest === capacity) drop()
      if (room !== undefined) {
        const size = room.of(value)
        taken += size
        while (isFull(room.total)) drop()
        sizes[next % capacity] = size
      }
      kept[next % capacity] = value
      next += 1
      if (waiting.size > 0) wake()
    },
    next: () => next,
    from: (first) =>
      Stream.suspend(() => {
        const wanted = first()
        // a number nobody has given out yet, or none at all
        const at = Number.isFinite(wanted) ? Math.min(Math.max(1, Math.floor(wanted)), next) : next
        return Stream.repeatEffectChunkOption(take({ at }))
      }),
    end: () => {
      ended = true
      wake()
    }
  }
}
