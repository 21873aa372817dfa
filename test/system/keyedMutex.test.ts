import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import * as KeyedMutex from "../../src/system/keyedMutex.js"

describe("a keyed mutex", () => {
  it.effect("runs effects of one key one at a time, in order of arrival", () =>
    Effect.gen(function* () {
      const mutex = KeyedMutex.make()
      const order: Array<number> = []
      let running = 0
      const work = (index: number) =>
        Effect.gen(function* () {
          running += 1
          assert.strictEqual(running, 1)
          yield* Effect.yieldNow()
          order.push(index)
          running -= 1
        })
      yield* Effect.forEach([0, 1, 2, 3], (index) => mutex.withLock("a")(work(index)), { concurrency: "unbounded" })
      assert.deepStrictEqual(order, [0, 1, 2, 3])
    })
  )

  it.effect("does not delay effects of other keys", () =>
    Effect.gen(function* () {
      const mutex = KeyedMutex.make()
      const holder = yield* Effect.fork(mutex.withLock("a")(Effect.never))
      yield* Effect.yieldNow()
      assert.strictEqual(yield* mutex.withLock("b")(Effect.succeed(1)), 1)
      yield* Fiber.interrupt(holder)
    })
  )

  it.effect("forgets a key that is not in use, also after failures and interrupts", () =>
    Effect.gen(function* () {
      const mutex = KeyedMutex.make()
      const gate = yield* Deferred.make<void>()
      const holder = yield* Effect.fork(mutex.withLock("a")(Deferred.await(gate)))
      const interrupted = yield* Effect.fork(mutex.withLock("a")(Effect.void))
      const failing = yield* Effect.fork(mutex.withLock("a")(Effect.fail("failed")))
      yield* Effect.yieldNow()
      assert.strictEqual(mutex.size(), 1)
      yield* Fiber.interrupt(interrupted)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(holder)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(failing)))
      assert.strictEqual(mutex.size(), 0)
    })
  )
})
