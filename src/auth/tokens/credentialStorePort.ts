import * as Array from "effect/Array"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as KeyedMutex from "../../system/keyedMutex.js"
import type { Credential } from "./Credential.js"

/**
 * Whose login it is: the same name at another address is somebody else.
 *
 * @since 0.1.0
 * @category models
 */
export interface Key {
  readonly server: string
  readonly serverUrl: string
}

/** One text for each. Locks are named after it: it is the same in all versions. */
export const nameOf = ({ server, serverUrl }: Key): string => JSON.stringify([server, serverUrl])

/**
 * The store cannot be used as it is. Nothing was changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreFailed extends Data.TaggedError("StoreFailed")<{
  /** What to look at. Holds no secret. */
  readonly detail: string
  /** Whether it may be different soon. */
  readonly isTemporary: boolean
}> {
  override get message(): string {
    return this.detail
  }
}

/**
 * Keeps logins. Provide another one to keep them in a keychain.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What is kept, as it is at this moment: another process may have changed it. */
  readonly load: (key: Key) => Effect.Effect<Option.Option<Credential>, StoreFailed>
  /** The same for several at once, in their order, where that is cheaper. Defaults to one after the other. */
  readonly loadAll?:
    | ((keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyArray<Option.Option<Credential>>, StoreFailed>)
    | undefined
  /** Keeps this instead of what was there; nothing removes it. Whole, or not at all. */
  readonly save: (key: Key, credential: Option.Option<Credential>) => Effect.Effect<void, StoreFailed>
  /**
   * Runs an effect while nobody else who uses this store runs one for the same login: from the first look until what came of
   * it is kept. Does not nest.
   */
  readonly exclusively: (key: Key) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreFailed, R>
  /** Says something when it begins, and each time anything may have changed, also by another process. */
  readonly changes: Stream.Stream<void>
}

/** What is kept of each of them, or that nobody knows. */
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

/** Keeps logins in memory. */
export const makeMemory = (): Service => {
  const kept = new Map<string, Credential>()
  const mutex = KeyedMutex.make()
  const listeners = new Set<() => void>()
  return {
    load: (key) => Effect.sync(() => Option.fromNullable(kept.get(nameOf(key)))),
    save: (key, credential) =>
      Effect.sync(() => {
        if (Option.isSome(credential)) kept.set(nameOf(key), credential.value)
        else kept.delete(nameOf(key))
        for (const tell of listeners) tell()
      }),
    exclusively: (key) => mutex.withLock(nameOf(key)),
    changes: Stream.async<void>((emit) => {
      const tell = () => void emit.single(undefined)
      listeners.add(tell)
      tell()
      return Effect.sync(() => listeners.delete(tell))
    })
  }
}

/** Stands for a store of one's own: what one supervisor knows in memory is nobody else's business. */
export const unset: Service = makeMemory()

/**
 * Defaults to memory, for each supervisor its own.
 *
 * @since 0.1.0
 * @category tags
 */
export class CredentialStore extends Context.Reference<CredentialStore>()("mcp-supervisor/CredentialStore", {
  defaultValue: (): Service => unset
}) {}
