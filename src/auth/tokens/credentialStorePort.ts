/**
 * Defines the port that stores logins, and its adapter in memory.
 */
import * as Array from "effect/Array"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as KeyedMutex from "../../system/keyedMutex.js"
import type { Credential } from "./Credential.js"

/**
 * Identifies a login. The same server name at another URL is another login.
 *
 * @since 0.1.0
 * @category models
 */
export interface Key {
  readonly server: string
  readonly serverUrl: string
}

/** The key as a text. File names of locks depend on it, so it must be the same in all versions. */
export const nameOf = ({ server, serverUrl }: Key): string => JSON.stringify([server, serverUrl])

/**
 * The store cannot be read or written. Nothing was changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreFailed extends Data.TaggedError("StoreFailed")<{
  /** What is wrong, for people. Contains no secret. */
  readonly detail: string
  /** Whether a retry may succeed. */
  readonly isTemporary: boolean
}> {
  override get message(): string {
    return this.detail
  }
}

/**
 * Stores logins. Provide another one to store them in a keychain.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Returns the current credential. Another process may have changed it. */
  readonly load: (key: Key) => Effect.Effect<Option.Option<Credential>, StoreFailed>
  /** Returns several credentials in the order of the keys. Defaults to calling `load` for each key. */
  readonly loadAll?:
    | ((keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyArray<Option.Option<Credential>>, StoreFailed>)
    | undefined
  /** Replaces the credential, or removes it (`None`). Atomic. */
  readonly save: (key: Key, credential: Option.Option<Credential>) => Effect.Effect<void, StoreFailed>
  /**
   * Runs an effect while no other user of this store, in any process, runs one for the same login. Does not nest.
   */
  readonly exclusively: (key: Key) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreFailed, R>
  /** Emits once at the start, and whenever a credential may have changed, also in another process. */
  readonly changes: Stream.Stream<void>
}

/** Loads several credentials; `unknown` if the store could not be read. */
export const loadAll = (
  store: Service,
  keys: ReadonlyArray<Key>
): Effect.Effect<ReadonlyArray<Credential | "unknown" | undefined>> => {
  if (keys.length === 0) return Effect.succeed([])
  if (store.loadAll === undefined) {
    return Effect.forEach(keys, (key) =>
      Effect.orElseSucceed(Effect.map(store.load(key), Option.getOrUndefined), () => "unknown" as const)
    )
  }
  return Effect.orElseSucceed(Effect.map(store.loadAll(keys), Array.map(Option.getOrUndefined)), () =>
    keys.map(() => "unknown" as const)
  )
}

/** Stores logins in memory. */
export const makeMemory = (): Service => {
  const credentials = new Map<string, Credential>()
  const mutex = KeyedMutex.make()
  const listeners = new Set<() => void>()
  return {
    load: (key) => Effect.sync(() => Option.fromNullable(credentials.get(nameOf(key)))),
    save: (key, credential) =>
      Effect.sync(() => {
        if (Option.isSome(credential)) credentials.set(nameOf(key), credential.value)
        else credentials.delete(nameOf(key))
        for (const listener of listeners) listener()
      }),
    exclusively: (key) => mutex.withLock(nameOf(key)),
    changes: Stream.async<void>((emit) => {
      const listener = () => void emit.single(undefined)
      listeners.add(listener)
      listener()
      return Effect.sync(() => listeners.delete(listener))
    })
  }
}

/** The default: each supervisor replaces it by a store of its own in memory. */
export const unset: Service = makeMemory()

/**
 * Defaults to memory, one store for each supervisor.
 *
 * @since 0.1.0
 * @category tags
 */
export class CredentialStore extends Context.Reference<CredentialStore>()("mcp-supervisor/CredentialStore", {
  defaultValue: (): Service => unset
}) {}
