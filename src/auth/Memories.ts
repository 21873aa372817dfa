/**
 * What this process knows of all logins: one memory for each, as long as somebody may need it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Key, nameOf } from "./CredentialStore/port.js"
import * as Memory from "./Memory.js"

export interface Memories {
  readonly of: (key: Key) => Memory.Memory
  /** The same, for who relies on it as long as the scope is open. */
  readonly use: (key: Key) => Effect.Effect<Memory.Memory, never, Scope.Scope>
  readonly all: () => ReadonlyArray<{ readonly key: Key; readonly memory: Memory.Memory }>
  /** The server is gone. What is known of it goes as soon as nobody uses it. */
  readonly forget: (server: string) => void
}

interface Entry {
  readonly key: Key
  readonly memory: Memory.Memory
  users: number
  /** Nobody will ask for it again. */
  isForgotten: boolean
}

export const make = (): Memories => {
  const entries = new Map<string, Entry>()

  const entryOf = (key: Key): Entry => {
    const there = entries.get(nameOf(key))
    if (there !== undefined) return there
    const entry: Entry = { key, memory: Memory.make(), users: 0, isForgotten: false }
    entries.set(nameOf(key), entry)
    return entry
  }

  /** Tokens that were not written yet are nowhere else. */
  const isNeeded = ({ isForgotten, memory, users }: Entry): boolean =>
    !isForgotten || users > 0 || memory.unsaved !== undefined || memory.renewal !== undefined

  const sweep = () => {
    for (const [name, entry] of entries) if (!isNeeded(entry)) entries.delete(name)
  }

  /** At another address, a server of the same name is another one. */
  const supersede = ({ server, serverUrl }: Key) => {
    for (const entry of entries.values()) {
      if (entry.key.server === server && entry.key.serverUrl !== serverUrl) entry.isForgotten = true
    }
  }

  return {
    of: (key) => entryOf(key).memory,
    use: (key) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            supersede(key)
            const entry = entryOf(key)
            entry.users += 1
            entry.isForgotten = false
            sweep()
            return entry
          }),
          (entry) =>
            Effect.sync(() => {
              entry.users -= 1
              sweep()
            })
        ),
        ({ memory }) => memory
      ),
    all: () => {
      sweep()
      return Array.from(entries.values())
    },
    forget: (server) => {
      for (const entry of entries.values()) if (entry.key.server === server) entry.isForgotten = true
      sweep()
    }
  }
}
