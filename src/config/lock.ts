/**
 * One at a time, across processes: a file beside the one that is to be changed.
 */
import { randomUUID } from "node:crypto"
import { readFile, rename, rm, stat } from "node:fs/promises"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Files from "./files.js"

/** How long we wait for others. */
const patience = 10_000

/** Nobody takes that long to change a file. Whoever holds a lock for longer is gone, even if his number is in use again. */
const abandonedAfter = 30_000

/** Runs while nobody else runs under the same name. Fails with why it could not. */
export const withLock =
  (path: string) =>
  <A, R>(effect: Effect.Effect<A, string, R>): Effect.Effect<A, string, R> => {
    const lock = `${path}.lock`
    return Effect.acquireUseRelease(
      acquire(lock),
      () => effect,
      (mark) => release(lock, mark)
    )
  }

const acquire = (lock: string): Effect.Effect<string, string> =>
  Effect.gen(function* () {
    const mark = `${process.pid} ${randomUUID()}`
    const until = (yield* Clock.currentTimeMillis) + patience
    const attempt = Effect.gen(function* () {
      if (yield* Files.create(lock, mark)) return true
      yield* breakAbandoned(lock)
      if ((yield* Clock.currentTimeMillis) > until) return yield* Effect.fail("another program is changing it")
      return false
    })
    yield* Effect.repeat(attempt, { until: (done) => done, schedule: Schedule.spaced("20 millis") })
    return mark
  })

/** Only what is still ours. */
const release = (lock: string, mark: string): Effect.Effect<void> =>
  Effect.ignore(
    Effect.tryPromise(async () => {
      if ((await readFile(lock, "utf8")) === mark) await rm(lock, { force: true })
    })
  )

/** Takes a lock away whose holder is gone. It is looked at again once it is out of the way: it may be another by then. */
const breakAbandoned = (lock: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.tryPromise(async () => {
      const seen = await readFile(lock, "utf8")
      if (!(await isAbandoned(lock, seen, now))) return
      const aside = `${lock}.${randomUUID()}`
      await rename(lock, aside)
      if ((await readFile(aside, "utf8")) === seen) await rm(aside, { force: true })
      else await rename(aside, lock)
    })
  ).pipe(Effect.ignore)

const isAbandoned = async (lock: string, mark: string, now: number): Promise<boolean> => {
  const [pid = ""] = mark.split(" ")
  if (/^\d+$/.test(pid) && !isAlive(Number(pid))) return true
  const { mtimeMs } = await stat(lock)
  return now - mtimeMs > abandonedAfter
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return Files.codeOf(error) === "EPERM"
  }
}
