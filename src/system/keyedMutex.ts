/**
 * Runs effects with the same key one at a time, in order of arrival. A key takes memory only while it is in use.
 */
import * as Effect from "effect/Effect"

export interface KeyedMutex {
  /** Runs an effect while no other effect of this mutex runs with the same key. Does not nest. */
  readonly withLock: (key: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The number of keys for which an effect runs or waits. */
  readonly size: () => number
}

interface MutexEntry {
  readonly semaphore: Effect.Semaphore
  /** How many effects run or wait. */
  users: number
}

export const make = (): KeyedMutex => {
  const entries = new Map<string, MutexEntry>()

  const join = (key: string): MutexEntry => {
    const entry = entries.get(key) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
    entry.users += 1
    entries.set(key, entry)
    return entry
  }

  const leave = (key: string, entry: MutexEntry) => {
    entry.users -= 1
    if (entry.users === 0) entries.delete(key)
  }

  return {
    withLock: (key) => (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => join(key)),
        ({ semaphore }) => semaphore.withPermits(1)(effect),
        (entry) => Effect.sync(() => leave(key, entry))
      ),
    size: () => entries.size
  }
}
