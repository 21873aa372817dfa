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
import * as StateFile from "../../system/stateFile.js"
import { codeOf, makeDirectory, replace } from "../../system/wholeFile.js"
import { Credential } from "./Credential.js"
import * as FileLock from "../../system/FileLock.js"
import { CredentialStore, type Key, nameOf, type Service, StoreFailed } from "./credentialStorePort.js"

const fileName = "mcp-auth.json"

const maxBytes = 16 * 1024 * 1024

/** How often a file is looked at where the system does not tell of changes. */
const lookEvery = "2 seconds"

/**
 * Keeps logins in `<stateDir>/mcp-auth.json`, readable by nobody but the user, for all processes that use the directory.
 * Nothing is touched before the first login is looked for.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFile = (stateDir: string): Layer.Layer<never> =>
  Layer.effectContext(Effect.map(make(stateDir), (service) => Context.make(CredentialStore, service)))

/** The entries are somebody else's until they are looked at: one that we do not understand stays as it is. */
interface Content {
  readonly logins: ReadonlyArray<unknown>
}

const empty: Content = { logins: [] }

export const make = (stateDir: string): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const path = join(stateDir, fileName)
    const locks = join(stateDir, "locks")
    const whole = yield* FileLock.make(join(locks, "mcp-auth"))
    const single = new Map<string, FileLock.FileLock>()

    const lockOf = (key: Key) =>
      Effect.gen(function* () {
        const name = createHash("sha256").update(nameOf(key)).digest("hex").slice(0, 16)
        const lock = single.get(name) ?? (yield* FileLock.make(join(locks, `mcp-auth-${name}`), { patience }))
        // whoever was first made the one that counts
        if (!single.has(name)) single.set(name, lock)
        return single.get(name)!
      })

    const locked = <A>(effect: Effect.Effect<A, StoreFailed>): Effect.Effect<A, StoreFailed> =>
      Effect.catchTag(whole.withLock(effect), "LockFailed", unlocked(path))

    /** What there is, or what to do about what is damaged. */
    const readOr = (damaged: Effect.Effect<Content, StoreFailed>): Effect.Effect<Content, StoreFailed> =>
      Effect.flatMap(StateFile.read(path, maxBytes), (found) => {
        switch (found._tag) {
          case "Absent":
            return Effect.succeed(empty)
          case "Newer":
            return failed(`${path} was written by a newer version; use that one, or move the file away`)
          case "Unreadable":
            return failed(`${path} cannot be read; check its permissions`)
          case "Corrupt":
            return damaged
          case "Found":
            return isContent(found.content) ? Effect.succeed(found.content) : damaged
        }
      })

    /** Kept for whoever can make sense of it. Only under the lock: else it might be a new and good one that is moved. */
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

    const write = (content: Content) =>
      Effect.tryPromise({ try: () => tidy(stateDir), catch: codeOf }).pipe(
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
        Effect.flatMap(lockOf(key), (lock) => Effect.catchIf(lock.withLock(effect), isLockFailed, unlocked(path))),
      changes: changesOf(path)
    }
  })

/** Longer than anything takes that is done under it: a holder may be waiting for an authorization server. */
const patience = "75 seconds"

const isLockFailed = (error: unknown): error is FileLock.LockFailed => error instanceof FileLock.LockFailed

const unlocked =
  (path: string) =>
  ({ code, path: lock, pid, reason }: FileLock.LockFailed): Effect.Effect<never, StoreFailed> => {
    if (reason === "held" && pid === undefined) {
      return failed(`${lock} does not say who holds ${path}; delete it if no process uses it`, true)
    }
    return reason === "held"
      ? failed(`${path} is held by process ${pid}, which does not let go of it`, true)
      : failed(`the lock beside ${path} cannot be used (${code})`)
  }

const failed = (detail: string, isTemporary = false): Effect.Effect<never, StoreFailed> =>
  Effect.fail(new StoreFailed({ detail, isTemporary }))

const isContent = (value: unknown): value is Content =>
  Predicate.hasProperty(value, "logins") && Array.isArray(value.logins)

const isOf =
  ({ server, serverUrl }: Key) =>
  (entry: unknown): boolean =>
    Predicate.isRecord(entry) && entry.server === server && entry.serverUrl === serverUrl

const decode = Schema.decodeUnknownOption(Credential)

const loginIn = (logins: ReadonlyArray<unknown>, key: Key): Option.Option<Credential> =>
  Option.flatMap(Option.fromNullable(logins.find(isOf(key))), decode)

/** Whoever writes holds the lock: temporary files of others are what the dead have left. */
const tidy = async (directory: string): Promise<void> => {
  await makeDirectory(directory)
  if (((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700)
  const left = (await readdir(directory)).filter((name) => name.startsWith(`${fileName}.`) && name.endsWith(".tmp"))
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })))
}

/** Of the directory, because the file is another one after each change. */
const changesOf = (path: string): Stream.Stream<void> =>
  Stream.unwrap(
    Effect.map(Effect.either(Effect.tryPromise(() => makeDirectory(dirname(path)))), () =>
      Stream.catchAll(told(path), () => seen(path))
    )
  )

const told = (path: string): Stream.Stream<void, unknown> =>
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

const seen = (path: string): Stream.Stream<void> =>
  Stream.repeatEffectWithSchedule(
    Effect.orElseSucceed(
      Effect.tryPromise(() => stat(path)),
      () => undefined
    ),
    Schedule.spaced(lookEvery)
  ).pipe(
    Stream.map((found) => `${found?.ino} ${found?.mtimeMs} ${found?.size}`),
    Stream.changes,
    Stream.map(() => undefined)
  )
