import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import * as FileLock from "../../../src/system/files/FileLock.js"
import { live, temporaryDirectory } from "../support/supervised.js"

type Call = "readdir" | "rm" | "truncate"

/** Failing file system calls: a number of calls succeeds, then a number of calls fails. */
const faults = new Map<Call, { after: number; times: number }>()

vi.mock(import("node:fs/promises"), async (original) => {
  const real = await original()
  const failing =
    <A extends ReadonlyArray<never>, B>(name: Call, run: (...args: A) => Promise<B>) =>
    async (...args: A): Promise<B> => {
      const fault = faults.get(name)
      if (fault !== undefined && fault.after-- <= 0 && fault.times-- > 0) {
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" })
      }
      return run(...args)
    }
  return {
    ...real,
    readdir: failing("readdir", real.readdir as never),
    rm: failing("rm", real.rm as never),
    truncate: failing("truncate", real.truncate as never)
  } as never
})

const fail = (name: Call, after: number, times: number) => Effect.sync(() => void faults.set(name, { after, times }))

const highest = (path: string) => Math.max(...readdirSync(path).map(Number).filter(Number.isFinite))

/** Another holder in this process, which can neither take over the lock nor wait for it. */
const isFree = (path: string) =>
  Effect.flatMap(FileLock.make(path, { patience: "300 millis" }), (lock) => lock.withLock(Effect.succeed(true)))

describe("a lock on a file system with occasional failures", () => {
  live(
    "is released by a process that could not verify that it holds it",
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "lock")
      const lock = yield* FileLock.make(path)
      // the check before succeeds, the one after fails
      yield* fail("readdir", 1, 1)
      const error = yield* Effect.flip(lock.withLock(Effect.void))
      assert.deepStrictEqual([error.reason, error.code], ["unusable", "EMFILE"])
      assert.strictEqual(readFileSync(join(path, String(highest(path))), "utf8"), "")
      assert.isTrue(yield* isFree(path))
    })
  )

  live(
    "is taken even if old files cannot be removed",
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "lock")
      const lock = yield* FileLock.make(path)
      yield* lock.withLock(Effect.void)
      yield* fail("rm", 0, 1000)
      assert.strictEqual(yield* lock.withLock(Effect.succeed("done")), "done")
      assert.isTrue(yield* isFree(path))
      yield* fail("rm", 0, 0)
      assert.isTrue(yield* isFree(path))
      assert.strictEqual(readdirSync(path).length, 1)
    })
  )

  live(
    "is released after a first failure to release it",
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "lock")
      const lock = yield* FileLock.make(path)
      yield* fail("truncate", 0, 3)
      assert.strictEqual(yield* lock.withLock(Effect.succeed("done")), "done")
      assert.isTrue(yield* isFree(path))
    })
  )
})
