/**
 * A lock between all processes of this machine, without native code. The lock records its holder and no expiry: a suspended
 * holder keeps the lock, a dead holder does not block other processes.
 *
 * A lock is a directory of numbered files. The file with the highest number is the lock. If it contains text, the text names the
 * holder; if it is empty, the lock is free. A process acquires the lock by creating the next number, including the text, in one
 * step (`link`), so that only one of several processes succeeds. It releases the lock by truncating the file. The highest file is
 * never deleted, so the numbers only grow. A process that read an old state can create a number that was used and deleted before.
 * It then finds a higher number in the directory and knows that it does not hold the lock.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { link, readdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { largest } from "../../domain/internal/extremes.js"
import { openOwn, readOwn } from "./ownership.js"
import * as ProcessIdentity from "../processIdentity.js"
import { codeOf, makeDirectory } from "./wholeFile.js"

/** The lock was not acquired: another process held it for the whole time, or the file system does not permit it. */
export class LockFailed extends Data.TaggedError("LockFailed")<{
  readonly reason: "held" | "unusable"
  /** The process that holds the lock. Absent if it is unknown. */
  readonly pid?: number | undefined
  /** The file that represents the lock. */
  readonly path?: string | undefined
  /** The system's error code. */
  readonly code?: string | undefined
}> {}

export interface FileLock {
  /** Runs the effect while no other effect runs under this lock, in this process or another. */
  readonly withLock: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LockFailed, R>
}

const Holder = Schema.parseJson(Schema.Struct({ ...ProcessIdentity.Identity.fields, nonce: Schema.String }))

/** Bounds of the milliseconds between two tries, doubled after each. The first are short: most locks are held briefly. */
const shortestWait = 2
const longestWait = 50

/** Milliseconds between two liveness checks of the same holder: on some systems a check starts a program. */
const livenessCheckInterval = 250

/**
 * Creates a lock. The file system is not accessed before the lock is first acquired.
 *
 * @param directory holds the files of the lock and no others. It is created with the first use.
 * @param patience how long a caller waits for the lock. Defaults to 30 seconds.
 */
export const make = (
  directory: string,
  options?: { readonly patience?: Duration.DurationInput | undefined }
): Effect.Effect<FileLock> =>
  Effect.map(Effect.makeSemaphore(1), (semaphore) => {
    const patience = Duration.toMillis(options?.patience ?? "30 seconds")
    return {
      withLock: (effect) =>
        // callers of this process wait in order, without polling the directory
        semaphore.withPermits(1)(Effect.acquireUseRelease(acquire(directory, patience), () => effect, release))
    }
  })

/** The process that the lock names as its holder, dead or alive. Undefined if the lock is free or cannot be read. */
export const holder = (directory: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  Effect.tryPromise(async () => {
    const names = await readdir(directory)
    const highest = largest(names.map(Number).filter(Number.isFinite), 0)
    return highest === 0 ? "" : readOwn(join(directory, String(highest)), maxBytes)
  }).pipe(
    Effect.map((text) => Option.getOrUndefined(decodeHolder(text))),
    Effect.orElseSucceed(() => undefined)
  )

/** A file that this process created, and the text in it that names this process. */
interface HeldLock {
  readonly path: string
  readonly text: string
}

const acquire = (directory: string, patience: number): Effect.Effect<HeldLock, LockFailed> =>
  Effect.gen(function* () {
    const started = yield* Clock.currentTimeMillis
    const text = JSON.stringify({ ...(yield* ProcessIdentity.self), nonce: randomUUID() })
    let wait = shortestWait
    let lastCheck: { readonly text: string; readonly at: number } | undefined
    while (true) {
      const { files, highest } = yield* io(() => listFiles(directory))
      const holder = highest === 0 ? "" : yield* io(() => readHolder(join(directory, String(highest))))
      const now = yield* Clock.currentTimeMillis
      let isFree = holder === ""
      // a new holder is checked at once, the same holder at intervals
      if (!isFree && (lastCheck?.text !== holder || now - lastCheck.at >= livenessCheckInterval)) {
        lastCheck = { text: holder, at: now }
        isFree = yield* isDead(holder)
      }
      if (isFree) {
        const held = yield* acquireNumber(directory, highest + 1, text)
        if (held !== undefined) {
          // the lock is held, even if older files cannot be deleted
          yield* Effect.ignore(io(() => Promise.all(files.map((name) => rm(join(directory, name), { force: true })))))
          return held
        }
      }
      if (now - started >= patience) {
        return yield* new LockFailed({ reason: "held", pid: pidOf(holder), path: join(directory, String(highest)) })
      }
      // only the wait can be interrupted: a lock that was acquired must be released
      yield* Effect.interruptible(Effect.sleep(wait * (0.5 + Math.random())))
      wait = Math.min(wait * 2, longestWait)
    }
  })

/** Acquires the lock with a number. Undefined if another process was first or has a higher number. Releases it on failure. */
const acquireNumber = (
  directory: string,
  number: number,
  text: string
): Effect.Effect<HeldLock | undefined, LockFailed> =>
  Effect.gen(function* () {
    const path = join(directory, String(number))
    if (!(yield* io(() => linkNumber(directory, path, text)))) return undefined
    const { highest } = yield* Effect.tapError(
      io(() => listFiles(directory)),
      () => release({ path, text })
    )
    if (highest === number) return { path, text }
    yield* Effect.ignore(io(() => rm(path, { force: true })))
    return undefined
  })

const linkNumber = async (directory: string, path: string, text: string): Promise<boolean> => {
  const temporary = join(directory, `${randomUUID()}.tmp`)
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" })
    await link(temporary, path)
    return true
  } catch (error) {
    // another process created the number first, or deleted the temporary file
    if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOENT") return false
    throw error
  } finally {
    // the next process that acquires the lock deletes what is left
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/**
 * Releases a lock. It retries, because no other process takes a lock from a live process. If the file is missing or has another
 * holder, the directory was cleared and there is nothing to release.
 */
const release = ({ path, text }: HeldLock): Effect.Effect<void> =>
  Effect.tryPromise({
    try: async () => {
      const file = await openOwn(path, constants.O_RDWR)
      try {
        if ((await file.readFile("utf8")) === text) await file.truncate(0)
      } finally {
        await file.close()
      }
    },
    catch: codeOf
  }).pipe(
    Effect.retry({ schedule: Schedule.exponential("10 millis"), times: 6, while: (code) => code !== "ENOENT" }),
    Effect.ignore
  )

const listFiles = async (
  directory: string
): Promise<{ readonly highest: number /** The names of all files. */; readonly files: ReadonlyArray<string> }> => {
  await makeDirectory(directory)
  const files = (await readdir(directory)).filter((name) => /^[1-9]\d{0,14}$|\.tmp$/.test(name))
  return { highest: largest(files.map(Number).filter(Number.isFinite), 0), files }
}

/** Reads a file. One that was deleted was no longer the highest: its text counts as a holder, and the next try reads again. */
const readHolder = (path: string): Promise<string> =>
  readOwn(path, maxBytes).catch((error) => (codeOf(error) === "ENOENT" ? missingHolder : Promise.reject(error)))

const missingHolder = "vanished"

/** Longer than the text of any holder. A longer file counts as empty. */
const maxBytes = 64 * 1024

const decodeHolder = Schema.decodeUnknownOption(Holder)

/** Whether the holder is certainly dead. A holder whose liveness is unknown counts as alive. */
const isDead = (text: string): Effect.Effect<boolean> =>
  Option.match(decodeHolder(text), {
    onNone: () => Effect.succeed(false),
    onSome: (holder) => Effect.map(ProcessIdentity.isAlive(holder), (liveness) => liveness === "dead")
  })

const pidOf = (text: string): number | undefined => Option.getOrUndefined(decodeHolder(text))?.pid

const io = <A>(run: () => Promise<A>): Effect.Effect<A, LockFailed> =>
  Effect.tryPromise({ try: run, catch: (error) => new LockFailed({ reason: "unusable", code: codeOf(error) }) })
