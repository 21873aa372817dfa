/**
 * Keeps the newest values of a sequence, numbered from 1 without gaps, for readers that start at any number. Each reader has its
 * own position and reads at its own speed: writers do not wait for a slow reader, and no value is kept for it.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

export interface ReplayLog<A> {
  readonly push: (value: A) => void
  /** The number of the next value. */
  readonly next: () => number
  /** The values from a number on. `first` is called when the stream starts. */
  readonly from: (first: () => number) => Stream.Stream<A>
  /** Ends all streams after the values that they have not read. */
  readonly end: () => void
}

/** How many values a reader takes at once, at most. */
const chunkSize = 256

/** The size limit for all values together, and the size of one value. The newest value is kept even if it exceeds the limit. */
export interface SizeLimit<A> {
  readonly total: number
  readonly of: (value: A) => number
}

export const make = <A>(options: {
  readonly capacity: number
  /** Defaults to no limit. */
  readonly room?: SizeLimit<A> | undefined
  /** The value that a reader gets in place of the dropped ones. If absent, they are omitted. */
  readonly missed?: ((from: number, to: number) => A) | undefined
}): ReplayLog<A> => {
  const { capacity, missed, room } = options
  const slots: Array<A | undefined> = []
  const sizes: Array<number> = []
  const waiting = new Set<() => void>()
  let next = 1
  let oldest = 1
  let totalSize = 0
  let isEnded = false

  const dropOldest = () => {
    const place = oldest % capacity
    slots[place] = undefined
    totalSize -= sizes[place] ?? 0
    oldest += 1
  }

  const isFull = (total: number) => oldest < next && totalSize > total

  const wake = () => {
    const readers = [...waiting]
    waiting.clear()
    for (const resume of readers) resume()
  }

  const awaitValue = (reader: { readonly at: number }) =>
    Effect.async<void>((resume) => {
      // a value can arrive between the check and the wait
      if (isEnded || reader.at < next) return resume(Effect.void)
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
        for (; reader.at < end; reader.at++) values.push(slots[reader.at % capacity] as A)
        return Effect.succeed(Chunk.unsafeFromArray(values))
      }
      return isEnded ? Effect.fail(Option.none()) : Effect.zipRight(awaitValue(reader), take(reader))
    })

  return {
    push: (value) => {
      if (isEnded) return
      if (next - oldest === capacity) dropOldest()
      if (room !== undefined) {
        const size = room.of(value)
        totalSize += size
        while (isFull(room.total)) dropOldest()
        sizes[next % capacity] = size
      }
      slots[next % capacity] = value
      next += 1
      if (waiting.size > 0) wake()
    },
    next: () => next,
    from: (first) =>
      Stream.suspend(() => {
        const requested = first()
        // the number can be above the newest value, or not a finite number
        const at = Number.isFinite(requested) ? Math.min(Math.max(1, Math.floor(requested)), next) : next
        return Stream.repeatEffectChunkOption(take({ at }))
      }),
    end: () => {
      isEnded = true
      wake()
    }
  }
}
