/**
 * Stores logins in a file of the state directory.
 */
import { createHash, randomUUID } from "node:crypto"
import { watch } from "node:fs"
import { chmod, readdir, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as StateFile from "../../system/files/stateFile.js"
import { codeOf, makeDirectory, replace } from "../../system/files/wholeFile.js"
import { Credential } from "./Credential.js"
import * as FileLock from "../../system/files/FileLock.js"
import * as KeyedMutex from "../../system/keyedMutex.js"
import { CredentialStore, type Key, nameOf, type Service, StoreFailed } from "./credentialStorePort.js"

const fileName = "mcp-auth.json"

const maxBytes = 16 * 1024 * 1024

/** How often the file is checked if the operating system does not report changes. */
const pollInterval = "2 seconds"

/**
 * Stores logins in `<stateDir>/mcp-auth.json`, readable only by the user, for all processes that use the directory. The
 * directory is not accessed before the first login is loaded.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFile = (stateDir: string): Layer.Layer<never> =>
  Layer.effectContext(Effect.map(make(stateDir), (service) => Context.make(CredentialStore, service)))

/** The entries are decoded one by one: an entry that this version does not understand is kept unchanged. */
interface StoredLogins {
  readonly logins: ReadonlyArray<unknown>
}

const empty: StoredLogins = { logins: [] }

export const make = (stateDir: string): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const path = join(stateDir, fileName)
    const locks = join(stateDir, "locks")
    const fileLock = yield* FileLock.make(join(locks, "mcp-auth"))
    const mutex = KeyedMutex.make()

    /** The lock of one login, which only the caller that holds its mutex uses in this process. */
    const lockOf = (key: Key) => {
      const name = createHash("sha256").update(nameOf(key)).digest("hex").slice(0, 16)
      return FileLock.make(join(locks, `mcp-auth-${name}`), { patience })
    }

    const locked = <A>(effect: Effect.Effect<A, StoreFailed>): Effect.Effect<A, StoreFailed> =>
      Effect.catchTag(fileLock.withLock(effect), "LockFailed", lockError(path))

    /** Reads the file. Runs `damaged` if it is not valid. */
    const readOr = (damaged: Effect.Effect<StoredLogins, StoreFailed>): Effect.Effect<StoredLogins, StoreFailed> =>
      Effect.flatMap(StateFile.read(path, maxBytes), (found) => {
        switch (found._tag) {
          case "Absent":
            return Effect.succeed(empty)
          case "Newer":
            return failed(`${path} was written by a newer version; use that version, or move the file away`)
          case "Unreadable":
            return failed(`${path} cannot be read; check its permissions`)
          case "Corrupt":
            return damaged
          case "Found":
            return isContent(found.content) ? Effect.succeed(found.content) : damaged
        }
      })

    /** Renames the damaged file. Only under the lock, or a new and valid file could be renamed. */
    const moveAside = Effect.gen(function* () {
      const aside = `${path}.corrupt-${yield* Clock.currentTimeMillis}-${randomUUID().slice(0, 8)}`
      yield* Effect.tryPromise({
        try: () => rename(path, aside),
        catch: (error) =>
          new StoreFailed({
            detail: `${path} is damaged and cannot be moved aside (${codeOf(error)})`,
            isTemporary: false
          })
      })
      yield* Effect.logWarning("mcp.auth.store_corrupt").pipe(Effect.annotateLogs({ path, movedTo: aside }))
      return empty
    })

    const readLocked = readOr(moveAside)
    const read = readOr(locked(readLocked))

    const write = (content: StoredLogins) =>
      Effect.tryPromise({ try: () => prepareDirectory(stateDir), catch: codeOf }).pipe(
        Effect.zipRight(
          replace(path, `${JSON.stringify({ version: StateFile.version, ...content }, null, 2)}\n`, { durable: true })
        ),
        Effect.mapError((code) => new StoreFailed({ detail: `${path} cannot be written (${code})`, isTemporary: true }))
      )

    return {
      load: (key) => Effect.map(read, ({ logins }) => loginIn(logins, key)),
      loadAll: (keys) => Effect.map(read, ({ logins }) => keys.map((key) => loginIn(logins, key))),
      save: (key, credential) =>
        Effect.gen(function* () {
          const { logins } = yield* readLocked
          const others = logins.filter((login) => !isOf(key)(login))
          yield* write({ logins: [...others, ...Option.toArray(credential)] })
        }).pipe(locked, Effect.uninterruptible),
      exclusively: (key) => (effect) =>
        Effect.flatMap(lockOf(key), (lock) =>
          Effect.catchIf(lock.withLock(effect), isLockFailed, lockError(path))
        ).pipe(mutex.withLock(nameOf(key))),
      changes: changesOf(path)
    }
  })

/** Longer than any operation under the lock: a holder may wait for an authorization server. */
const patience = "75 seconds"

const isLockFailed = (error: unknown): error is FileLock.LockFailed => error instanceof FileLock.LockFailed

const lockError =
  (path: string) =>
  ({ code, path: lock, pid, reason }: FileLock.LockFailed): Effect.Effect<never, StoreFailed> => {
    if (reason === "held" && pid === undefined) {
      return failed(`${lock} does not name the process that holds ${path}; delete it if no process uses it`, true)
    }
    return reason === "held"
      ? failed(`${path} is locked by process ${pid}, which does not release it`, true)
      : failed(`the lock beside ${path} cannot be used (${code})`)
  }

const failed = (detail: string, isTemporary = false): Effect.Effect<never, StoreFailed> =>
  Effect.fail(new StoreFailed({ detail, isTemporary }))

const isContent = (value: unknown): value is StoredLogins =>
  Predicate.hasProperty(value, "logins") && Array.isArray(value.logins)

const isOf =
  ({ server, serverUrl }: Key) =>
  (entry: unknown): boolean =>
    Predicate.isRecord(entry) && entry.server === server && entry.serverUrl === serverUrl

const decode = Schema.decodeUnknownOption(Credential)

const loginIn = (logins: ReadonlyArray<unknown>, key: Key): Option.Option<Credential> =>
  Option.flatMap(Option.fromNullable(logins.find(isOf(key))), decode)

/** Makes the directory private, and removes temporary files. The caller holds the lock, so they are of processes that have ended. */
const prepareDirectory = async (directory: string): Promise<void> => {
  await makeDirectory(directory)
  if (((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700)
  const leftovers = (await readdir(directory)).filter(
    (name) => name.startsWith(`${fileName}.`) && name.endsWith(".tmp")
  )
  await Promise.all(leftovers.map((name) => rm(join(directory, name), { force: true })))
}

/** Watches the directory, because each change replaces the file. */
const changesOf = (path: string): Stream.Stream<void> =>
  Stream.unwrap(
    Effect.map(Effect.either(Effect.tryPromise(() => makeDirectory(dirname(path)))), () =>
      Stream.catchAll(watchedChanges(path), () => polledChanges(path))
    )
  )

const watchedChanges = (path: string): Stream.Stream<void, unknown> =>
  Stream.async<void, unknown>((emit) => {
    try {
      const watcher = watch(dirname(path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(path)) void emit.single(undefined)
      })
      watcher.on("error", (error) => void emit.fail(error))
      void emit.single(undefined)
      return Effect.sync(() => watcher.close())
    } catch (error) {
      return void emit.fail(error)
    }
  })

const polledChanges = (path: string): Stream.Stream<void> =>
  Stream.repeatEffectWithSchedule(
    Effect.orElseSucceed(
      Effect.tryPromise(() => stat(path)),
      () => undefined
    ),
    Schedule.spaced(pollInterval)
  ).pipe(
    Stream.map((found) => `${found?.ino} ${found?.mtimeMs} ${found?.size}`),
    Stream.changes,
    Stream.map(() => undefined)
  )
