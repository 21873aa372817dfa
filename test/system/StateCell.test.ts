import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Fiber, Stream } from "effect"
import * as StateCell from "../../src/system/stream/StateCell.js"
import { isOver, resultOf, settle } from "../supervision/support.js"

const read = <A>(stream: Stream.Stream<A>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

describe("StateCell", () => {
  it.effect("streams the current value, then each change, then ends", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const reader = yield* Effect.fork(read(cell.changes))
      yield* settle
      cell.set(2)
      yield* settle
      cell.set(3)
      cell.end()
      assert.deepStrictEqual(yield* Fiber.join(reader), [1, 2, 3])
    })
  )

  it.effect("gives a slow reader the newest value and none between", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const go = yield* Deferred.make<void>()
      const reader = yield* Effect.fork(read(Stream.tap(cell.changes, () => Deferred.await(go))))
      yield* settle
      for (const value of [2, 3, 4]) cell.set(value)
      yield* Deferred.succeed(go, undefined)
      yield* settle
      cell.end()
      assert.deepStrictEqual(yield* Fiber.join(reader), [1, 4])
    })
  )

  it.effect("streams only the last value after it ended", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      cell.set(2)
      cell.end()
      assert.deepStrictEqual(yield* read(cell.changes), [2])
    })
  )

  it.effect("can still be set after it ended, without a notification", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const reader = yield* Effect.fork(read(cell.changes))
      yield* settle
      cell.end()
      cell.set(2)
      assert.strictEqual(cell.get(), 2)
      assert.deepStrictEqual(yield* Fiber.join(reader), [1])
    })
  )

  it.effect("until returns at once if the current value matches", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(7)
      assert.strictEqual(yield* cell.until((value) => (value > 5 ? `${value}!` : undefined)), "7!")
    })
  )

  it.effect("until checks every value, also one that is replaced at once", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const waiting = yield* Effect.fork(cell.until((value) => (value === 2 ? value : undefined)))
      yield* settle
      cell.set(2)
      cell.set(3)
      assert.strictEqual(yield* Effect.flatten(resultOf(waiting)), 2)
    })
  )

  it.effect("until fails when the cell ends, before or meanwhile", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const waiting = yield* Effect.fork(cell.until(() => undefined))
      assert.isFalse(yield* isOver(waiting))
      cell.end()
      assert.strictEqual(yield* Effect.flip(Effect.flatten(resultOf(waiting))), "ended")
      assert.strictEqual(yield* Effect.flip(cell.until(() => undefined)), "ended")
      assert.strictEqual(yield* cell.until((value) => value), 1)
    })
  )

  it.effect("until stops checking once it returned or was interrupted", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      let asked = 0
      const count = (value: number) => {
        asked += 1
        return value === 2 ? value : undefined
      }
      const answered = yield* Effect.fork(cell.until(count))
      const interrupted = yield* Effect.fork(cell.until(count))
      yield* settle
      yield* Fiber.interrupt(interrupted)
      cell.set(2)
      yield* Fiber.join(answered)
      const before = asked
      cell.set(3)
      assert.strictEqual(asked, before)
    })
  )

  it.effect("until can set the cell while it checks", () =>
    Effect.gen(function* () {
      const cell = StateCell.make(1)
      const first = yield* Effect.fork(cell.until((value) => (value === 2 ? (cell.set(3), value) : undefined)))
      const second = yield* Effect.fork(cell.until((value) => (value === 3 ? value : undefined)))
      yield* settle
      cell.set(2)
      assert.strictEqual(yield* Effect.flatten(resultOf(second)), 3)
      assert.strictEqual(yield* Effect.flatten(resultOf(first)), 2)
    })
  )
})
