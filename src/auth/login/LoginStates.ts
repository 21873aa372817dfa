/**
 * Holds the login states of all servers. A state is dropped when its server is removed and nothing uses it any longer.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Key } from "../tokens/credentialStorePort.js"
import * as LoginState from "./LoginState.js"

export interface LoginStates {
  /** Returns the state of a login, and creates it if there is none. */
  readonly get: (key: Key) => LoginState.LoginState
  /** Returns the state of a login and keeps it while the scope is open. */
  readonly use: (key: Key) => Effect.Effect<LoginState.LoginState, never, Scope.Scope>
  readonly all: () => ReadonlyArray<{ readonly key: Key; readonly loginState: LoginState.LoginState }>
  /** Drops the states of a removed server as soon as they are not in use. */
  readonly forget: (server: string) => void
}

interface StateEntry {
  readonly key: Key
  readonly loginState: LoginState.LoginState
  users: number
}

export const make = (): LoginStates => {
  /** By server and URL, so that a change of one server does not search all of them. */
  const entries = new Map<string, Map<string, StateEntry>>()
  /** Entries to be dropped as soon as they are not in use. */
  const forgotten = new Set<StateEntry>()

  const ofServer = (server: string): Map<string, StateEntry> => entries.get(server) ?? new Map<string, StateEntry>()

  const entryOf = (key: Key): StateEntry => {
    const siblings = ofServer(key.server)
    const entry = siblings.get(key.serverUrl) ?? { key, loginState: LoginState.make(), users: 0 }
    entries.set(key.server, siblings.set(key.serverUrl, entry))
    return entry
  }

  /** Unsaved tokens exist only in the login state. */
  const isInUse = ({ loginState, users }: StateEntry): boolean =>
    users > 0 || loginState.unsaved !== undefined || loginState.renewal !== undefined

  const sweep = () => {
    for (const entry of forgotten) {
      if (isInUse(entry)) continue
      const { server, serverUrl } = entry.key
      const siblings = ofServer(server)
      forgotten.delete(entry)
      siblings.delete(serverUrl)
      if (siblings.size === 0) entries.delete(server)
    }
  }

  /** Forgets the states that the server had at other URLs. */
  const forgetOthers = (current: StateEntry) => {
    for (const entry of ofServer(current.key.server).values()) if (entry !== current) forgotten.add(entry)
    forgotten.delete(current)
  }

  return {
    get: (key) => entryOf(key).loginState,
    use: (key) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const entry = entryOf(key)
            entry.users += 1
            forgetOthers(entry)
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
