/**
 * What this process knows of all logins: one memory for each, as long as somebody may need it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Key } from "../tokens/credentialStorePort.js"
import * as LoginState from "./LoginState.js"

export interface LoginStates {
  readonly of: (key: Key) => LoginState.LoginState
  /** The same, for who relies on it as long as the scope is open. */
  readonly use: (key: Key) => Effect.Effect<LoginState.LoginState, never, Scope.Scope>
  readonly all: () => ReadonlyArray<{ readonly key: Key; readonly loginState: LoginState.LoginState }>
  /** The server is gone. What is known of it goes as soon as nobody uses it. */
  readonly forget: (server: string) => void
}

interface Entry {
  readonly key: Key
  readonly loginState: LoginState.LoginState
  users: number
}

export const make = (): LoginStates => {
  /** By server and address: what happens to one server costs no walk over all of them. */
  const entries = new Map<string, Map<string, Entry>>()
  /** Entries that are not looked up again. */
  const forgotten = new Set<Entry>()

  const ofServer = (server: string): Map<string, Entry> => entries.get(server) ?? new Map<string, Entry>()

  const entryOf = (key: Key): Entry => {
    const siblings = ofServer(key.server)
    const entry = siblings.get(key.serverUrl) ?? { key, loginState: LoginState.make(), users: 0 }
    entries.set(key.server, siblings.set(key.serverUrl, entry))
    return entry
  }

  /** Tokens that were not written yet are nowhere else. */
  const isNeeded = ({ loginState, users }: Entry): boolean =>
    users > 0 || loginState.unsaved !== undefined || loginState.renewal !== undefined

  const sweep = () => {
    for (const entry of forgotten) {
      if (isNeeded(entry)) continue
      const { server, serverUrl } = entry.key
      const siblings = ofServer(server)
      forgotten.delete(entry)
      siblings.delete(serverUrl)
      if (siblings.size === 0) entries.delete(server)
    }
  }

  /** At another address, a server of the same name is another one. */
  const supersede = (current: Entry) => {
    for (const entry of ofServer(current.key.server).values()) if (entry !== current) forgotten.add(entry)
    forgotten.delete(current)
  }

  return {
    of: (key) => entryOf(key).loginState,
    use: (key) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const entry = entryOf(key)
            entry.users += 1
            supersede(entry)
            sweep()
            return entry
          }),
          (entry) =>
            Effect.sync(() => {
              entry.users -= 1
              sweep()
            })
        ),
        ({ loginState }) => loginState
      ),
    all: () => {
      sweep()
      return Array.from(entries.values()).flatMap((siblings) => Array.from(siblings.values()))
    },
    forget: (server) => {
      for (const entry of ofServer(server).values()) forgotten.add(entry)
      sweep()
    }
  }
}
