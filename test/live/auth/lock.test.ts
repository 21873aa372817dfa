import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as FileLock from "../../../src/system/files/FileLock.js"
import { program } from "../support/program.js"
import { live, temporaryDirectory } from "../support/supervised.js"

const directory = Effect.map(temporaryDirectory, (path) => join(path, "lock"))

const isHeld = (line: string) => line === "held"

describe.concurrent("a file lock", () => {
  live(
    "is held by one caller at a time, in one process and in several",
    Effect.gen(function* () {
      const path = yield* directory
      let inside = 0
      let most = 0
      let runs = 0
      const work = Effect.gen(function* () {
        inside += 1
        most = Math.max(most, inside)
        yield* Effect.sleep(1)
        inside -= 1
        runs += 1
      })
      // each its own, as if they did not know of each other
      const locks = yield* Effect.forEach(Array.from({ length: 8 }), () => FileLock.make(path))
      yield* Effect.forEach(
        locks,
        (lock) => Effect.forEach(Array.from({ length: 10 }), () => lock.withLock(work), { discard: true }),
        { concurrency: "unbounded", discard: true }
      )
      assert.strictEqual(most, 1)
      assert.strictEqual(runs, 80)
      // numbers only grow, and the highest stays: empty, so free
      const files = readdirSync(path)
      assert.strictEqual(files.length, 1)
      assert.isAtLeast(Number(files[0]), 80)
      assert.strictEqual(readFileSync(join(path, files[0]!), "utf8"), "")
    })
  )

  live(
    "fails in time with its path if it cannot be taken or read",
    Effect.gen(function* () {
      for (const [number, holder] of [
        ["999999999999999", ""],
        ["7", "unknown process"]
      ] as const) {
        const path = yield* directory
        mkdirSync(path)
        writeFileSync(join(path, number), holder)
        const impatient = yield* FileLock.make(path, { patience: "100 millis" })
        const error = yield* Effect.flip(impatient.withLock(Effect.void))
        assert.deepInclude(error, { reason: "held", path: join(path, number) })
      }
    })
  )

  live(
    "of another holder is not released by the holder before the directory was cleared",
    Effect.gen(function* () {
      const path = yield* directory
      const [mine, theirs] = [yield* FileLock.make(path), yield* FileLock.make(path)]
      const [taken, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const cleared = Effect.gen(function* () {
        rmSync(path, { recursive: true })
        const other = yield* Effect.fork(
          theirs.withLock(Effect.zipRight(Deferred.succeed(taken, undefined), Deferred.await(done)))
        )
        yield* Deferred.await(taken)
        return other
      })
      const other = yield* mine.withLock(cleared)
      const impatient = yield* FileLock.make(path, { patience: "100 millis" })
      assert.strictEqual((yield* Effect.flip(impatient.withLock(Effect.void))).reason, "held")
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(other)
      assert.isTrue(yield* impatient.withLock(Effect.succeed(true)))
    })
  )

  live(
    "of a suspended process stays held; of a dead process it is free",
    Effect.gen(function* () {
      const path = yield* directory
      const holder = yield* program("./lockHolder.ts", path)
      yield* holder.line(isHeld)
      holder.child.kill("SIGSTOP")
      const impatient = yield* FileLock.make(path, { patience: "700 millis" })
      const error = yield* Effect.flip(impatient.withLock(Effect.void))
      assert.strictEqual(error.reason, "held")
      assert.strictEqual(error.pid, holder.child.pid)
      const patient = yield* FileLock.make(path)
      const waiting = yield* Effect.fork(patient.withLock(Effect.succeed("mine")))
      holder.child.kill("SIGKILL")
      assert.strictEqual(yield* Fiber.join(waiting), "mine")
    })
  )

  live(
    "whose holder is unknown stays held: it may run on another machine",
    Effect.gen(function* () {
      const path = yield* directory
      const first = yield* FileLock.make(path)
      yield* first.withLock(Effect.void)
      writeFileSync(join(path, "1"), "unknown")
      const second = yield* FileLock.make(path, { patience: "100 millis" })
      assert.strictEqual((yield* Effect.flip(second.withLock(Effect.void))).reason, "held")
    })
  )

  live(
    "is free if the process id of its holder now belongs to another process",
    Effect.gen(function* () {
      const path = yield* directory
      const first = yield* FileLock.make(path)
      yield* first.withLock(
        Effect.gen(function* () {
          // as if it were held by a process of our number that was started at another time
          const text = JSON.parse(readFileSync(join(path, "1"), "utf8"))
          writeFileSync(join(path, "1"), JSON.stringify({ ...text, startedAt: "1" }))
          const second = yield* FileLock.make(path, { patience: "5 seconds" })
          assert.strictEqual(yield* second.withLock(Effect.succeed("mine")), "mine")
        })
      )
    })
  )

  live(
    "is released after a failure or an interrupt",
    Effect.gen(function* () {
      const lock = yield* FileLock.make(yield* directory)
      yield* Effect.flip(lock.withLock(Effect.fail("no")))
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        lock.withLock(Effect.zipRight(Deferred.succeed(started, undefined), Effect.never))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* lock.withLock(Effect.succeed("again")), "again")
    })
  )

  live(
    "can be interrupted while it waits",
    Effect.gen(function* () {
      const path = yield* directory
      const holder = yield* program("./lockHolder.ts", path)
      yield* holder.line(isHeld)
      const lock = yield* FileLock.make(path)
      const fiber = yield* Effect.fork(lock.withLock(Effect.void))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
    })
  )

  live(
    "that cannot be written fails with the error code of the system",
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      const file = join(path, "file")
      writeFileSync(file, "")
      chmodSync(file, 0o600)
      const lock = yield* FileLock.make(join(file, "lock"))
      const error = yield* Effect.flip(lock.withLock(Effect.void))
      assert.deepStrictEqual([error.reason, error.code], ["unusable", "ENOTDIR"])
    })
  )
})
