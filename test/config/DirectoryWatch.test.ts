import type { FSWatcher, watch } from "node:fs"
import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as DirectoryWatch from "../../src/config/watch/DirectoryWatch.js"

type Listener = (event: "rename", name: string) => void

const there = { dev: 1, ino: 1, isSymbolicLink: () => false }

/** A disk that says nothing of some paths until it is let to. */
const disk = Effect.gen(function* () {
  const open = new Set<string>()
  const listeners = new Map<string, Listener>()
  const waiting: Array<() => void> = []
  const slow = new Set<string>()
  let changes = 0
  const watching = yield* DirectoryWatch.make(
    () => void (changes += 1),
    ((directory: string, _options: object, listener: Listener) => {
      open.add(directory)
      listeners.set(directory, listener)
      return Object.assign(new EventEmitter(), { close: () => void open.delete(directory) }) as unknown as FSWatcher
    }) as typeof watch,
    async (path) => {
      if (slow.has(path)) await new Promise<void>((resolve) => waiting.push(resolve))
      return there
    }
  )
  const answer = Effect.promise(async () => {
    slow.clear()
    for (const resolve of waiting.splice(0)) resolve()
    await new Promise((resolve) => setImmediate(resolve))
  })
  /** An update that is given up. */
  const late = (path: string) =>
    Effect.gen(function* () {
      slow.add(path)
      const updating = yield* Effect.fork(watching.update([path]))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust("5 seconds")
      return yield* Fiber.join(updating)
    })
  /** What the system reports about a name in a watched directory. */
  const report = (directory: string, name: string) => Effect.sync(() => listeners.get(directory)!("rename", name))
  return { watching, open, listeners, answer, late, report, changes: () => changes }
})

describe("an update of the watched paths that exceeds its time limit", () => {
  it.scoped("is reported as a change when it completes later", () =>
    Effect.gen(function* () {
      const { answer, changes, late, open, watching } = yield* disk
      assert.isFalse(yield* late("/a/file"))
      assert.deepStrictEqual([watching.needsPolling(), changes()], [true, 0])
      yield* answer
      assert.deepStrictEqual([watching.needsPolling(), changes(), [...open].sort()], [false, 1, ["/", "/a"]])
    })
  )

  it.scoped("does nothing after a later update", () =>
    Effect.gen(function* () {
      const { answer, changes, late, open, watching } = yield* disk
      yield* late("/a/file")
      assert.isTrue(yield* watching.update(["/b/file"]))
      yield* answer
      assert.deepStrictEqual([changes(), [...open].sort()], [0, ["/", "/b"]])
    })
  )

  it.scoped("is not applied if the next one exceeds the limit, too", () =>
    Effect.gen(function* () {
      const { answer, late, open, watching } = yield* disk
      yield* late("/a/file")
      yield* late("/b/file")
      assert.isTrue(watching.needsPolling())
      yield* answer
      assert.deepStrictEqual([watching.needsPolling(), [...open].sort()], [false, ["/", "/b"]])
    })
  )
})

describe("a watched directory that is moved or removed", () => {
  it.scoped("is watched again, also if its successor has the same inode", () =>
    Effect.gen(function* () {
      const { changes, open, report, watching } = yield* disk
      assert.isTrue(yield* watching.update(["/a/file"]))
      assert.isFalse(yield* watching.update(["/a/file"]))
      yield* report("/a", "a")
      assert.deepStrictEqual([changes(), [...open]], [1, ["/"]])
      assert.isTrue(yield* watching.update(["/a/file"]))
      assert.deepStrictEqual([...open].sort(), ["/", "/a"])
    })
  )

  it.scoped("is not closed by a late report about its predecessor", () =>
    Effect.gen(function* () {
      const { listeners, open, report, watching } = yield* disk
      yield* watching.update(["/a/file"])
      const late = listeners.get("/a")!
      yield* report("/a", "a")
      yield* watching.update(["/a/file"])
      late("rename", "a")
      assert.deepStrictEqual([...open].sort(), ["/", "/a"])
    })
  )
})
