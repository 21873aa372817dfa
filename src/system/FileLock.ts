/**
 * A lock that all processes of this machine respect, without native code. It is known who holds it, not for how long: a
 * holder that is suspended keeps it, one that is dead blocks nobody.
 *
 * A lock is a directory of numbered files. The highest number is the lock: with text in it, it is held by whom the text names;
 * empty, it is free. To take it is to create the next number, with the text, in one step (`link`): of several who try, one
 * succeeds. To leave it is to empty the file. The highest file is never deleted, so numbers only grow. Somebody who saw an
 * old state and takes a number that was used and deleted before finds a higher one beside it, and knows that he has nothing.
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
import { largest } from "../domain/internal/extremes.js"
import { openOwn, readOwn } from "./ownership.js"
import * as ProcessIdentity from "./processIdentity.js"
import { codeOf, makeDirectory } from "./wholeFile.js"

/** The lock could not be had: somebody holds it all the time, or the file system does not let us. */
export class LockFailed extends Data.TaggedError("LockFailed")<{
  readonly reason: "held" | "unusable"
  /** The process that holds it, if it is known. */
  readonly pid?: number | undefined
  /** The file that stands for it. */
  readonly path?: string | undefined
  /** What the system calls the error. */
  readonly code?: string | undefined
}> {}

export interface FileLock {
  /** Runs the effect while nobody else, in this process or another, runs one with the same lock. */
  readonly withLock: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LockFailed, R>
}

const Holder = Schema.parseJson(Schema.Struct({ ...ProcessIdentity.Identity.fields, nonce: Schema.String }))

/** How often somebody who waits looks again. The first looks are quick: most locks are held for a moment. */
const shortestWait = 2
const longestWait = 50

/** Milliseconds between two looks at whether the holder lives: on some systems that starts a program. */
const judgeEvery = 250

/**
 * @param directory is made when the lock is first taken, and belongs to it alone.
 * @param patience how long it is waited for. Defaults to 30 seconds.
 */
export const make = (
  directory: string,
  options?: { readonly patience?: Duration.DurationInput | undefined }
): Effect.Effect<FileLock> =>
  Effect.map(Effect.makeSemaphore(1), (own) => {
    const patience = Duration.toMillis(options?.patience ?? "30 seconds")
    return {
      withLock: (effect) =>
        // among ourselves it is a matter of turns
        own.withPermits(1)(Effect.acquireUseRelease(take(directory, patience), () => effect, leave))
    }
  })

/** Who holds it, dead or alive; nobody where it is free, or cannot be read. */
export const holder = (directory: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  Effect.tryPromise(async () => {
    const names = await readdir(directory)
    const highest = largest(names.map(Number).filter(Number.isFinite), 0)
    return highest === 0 ? "" : readOwn(join(directory, String(highest)), maxBytes)
  }).pipe(
    Effect.map((text) => Option.getOrUndefined(decode(text))),
    Effect.orElseSucceed(() => undefined)
  )

/** A number that is taken, and the text that says by whom. */
interface Held {
  readonly path: string
  readonly text: string
}

const take = (directory: string, patience: number): Effect.Effect<Held, LockFailed> =>
  Effect.gen(function* () {
    const started = yield* Clock.currentTimeMillis
    const text = JSON.stringify({ ...(yield* ProcessIdentity.self), nonce: randomUUID() })
    let wait = shortestWait
    let judged: { readonly text: string; readonly at: number } | undefined
    while (true) {
      const { highest, others } = yield* io(() => look(directory))
      const holder = highest === 0 ? "" : yield* io(() => textOf(join(directory, String(highest))))
      const now = yield* Clock.currentTimeMillis
      let isFree = holder === ""
      // the same holder is judged now and then, a new one at once
      if (!isFree && (judged?.text !== holder || now - judged.at >= judgeEvery)) {
        judged = { text: holder, at: now }
        isFree = yield* isDead(holder)
      }
      if (isFree) {
        const held = yield* create(directory, highest + 1, text)
        if (held !== undefined) {
          // it is ours, whatever is left lying about
          yield* Effect.ignore(io(() => Promise.all(others.map((name) => rm(join(directory, name), { force: true })))))
          return held
        }
      }
      if (now - started >= patience) {
        return yield* new LockFailed({ reason: "held", pid: pidIn(holder), path: join(directory, String(highest)) })
      }
      // whoever waits may give up; whoever has it must leave it again
      yield* Effect.interruptible(Effect.sleep(wait * (0.5 + Math.random())))
      wait = Math.min(wait * 2, longestWait)
    }
  })

/** Takes a number. Gives nothing if somebody else was first, or is already further. A failure leaves nothing taken. */
const create = (directory: string, number: number, text: string): Effect.Effect<Held | undefined, LockFailed> =>
  Effect.gen(function* () {
    const path = join(directory, String(number))
    if (!(yield* io(() => claim(directory, path, text)))) return undefined
    const { highest } = yield* Effect.tapError(
      io(() => look(directory)),
      () => leave({ path, text })
    )
    if (highest === number) return { path, text }
    yield* Effect.ignore(io(() => rm(path, { force: true })))
    return undefined
  })

const claim = async (directory: string, path: string, text: string): Promise<boolean> => {
  const temporary = join(directory, `${randomUUID()}.tmp`)
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" })
    await link(temporary, path)
    return true
  } catch (error) {
    // somebody was first, or is tidying up
    if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOENT") return false
    throw error
  } finally {
    // what cannot be tidied up now is tidied up by whoever takes it next
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/**
 * Tried a few times: nobody takes a lock from a process that lives. Where the file is gone, or another's, somebody has cleared
 * the directory, and there is nothing to leave.
 */
const leave = ({ path, text }: Held): Effect.Effect<void> =>
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

const look = async (
  directory: string
): Promise<{ readonly highest: number /** All files there are. */; readonly others: ReadonlyArray<string> }> => {
  await makeDirectory(directory)
  const others = (await readdir(directory)).filter((name) => /^[1-9]\d{0,14}$|\.tmp$/.test(name))
  return { highest: largest(others.map(Number).filter(Number.isFinite), 0), others }
}

/** A file that is gone was not the highest any more: it is looked at again. */
const textOf = (path: string): Promise<string> =>
  readOwn(path, maxBytes).catch((error) => (codeOf(error) === "ENOENT" ? vanished : Promise.reject(error)))

const vanished = "vanished"

/** Longer than the text of any holder. */
const maxBytes = 64 * 1024

const decode = Schema.decodeUnknownOption(Holder)

/** Somebody of whom we cannot tell is not robbed. */
const isDead = (text: string): Effect.Effect<boolean> =>
  Option.match(decode(text), {
    onNone: () => Effect.succeed(false),
    onSome: (holder) => Effect.map(ProcessIdentity.isAlive(holder), (liveness) => liveness === "dead")
  })

const pidIn = (text: string): number | undefined => Option.getOrUndefined(decode(text))?.pid

const io = <A>(run: () => Promise<A>): Effect.Effect<A, LockFailed> =>
  Effect.tryPromise({ try: run, catch: (error) => new LockFailed({ reason: "unusable", code: codeOf(error) }) })
