import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Stream } from "effect"
import * as Broadcast from "../../src/system/stream/Broadcast.js"

describe("Broadcast", () => {
  it.scoped("keeps early values for the first reader only", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<number>({ capacity: 10, early: true })
      broadcast.publish(1)
      const [first, second] = [yield* broadcast.subscribe, yield* broadcast.subscribe]
      broadcast.publish(2)
      broadcast.end()
      broadcast.publish(3)
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(first)), [1, 2])
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(second)), [2])
    })
  )

  it.scoped("keeps only the newest of waiting values with one key", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<string>({ capacity: 10, key: (value) => value, early: true })
      for (let count = 0; count < 200; count += 1) broadcast.publish("changed")
      broadcast.publish("other")
      const first = yield* Stream.runCollect(Stream.take(broadcast.stream, 2))
      assert.deepStrictEqual(Chunk.toReadonlyArray(first), ["changed", "other"])
      const later = yield* broadcast.subscribe
      broadcast.publish("changed")
      broadcast.end()
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(later)), ["changed"])
    })
  )

  it.effect("drops the oldest values for a reader that is too slow", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<number>({ capacity: 3, early: true })
      for (let value = 1; value <= 5; value += 1) broadcast.publish(value)
      broadcast.end()
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(broadcast.stream)), [3, 4, 5])
    })
  )

  it.scoped("delivers values that were published between subscribing and reading", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<number>({ capacity: 3, early: false })
      broadcast.publish(1)
      const stream = yield* broadcast.subscribe
      broadcast.publish(2)
      broadcast.end()
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(stream)), [2])
    })
  )

  it.effect("drops the oldest values beyond 1 MiB of keys for a reader that is too slow", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<string>({ capacity: 10_000, key: (value) => value, early: true })
      const uri = (index: number) => `${"x".repeat(8_000)}${index}`
      for (let index = 0; index < 1_000; index += 1) {
        broadcast.publish(uri(index))
        broadcast.publish(uri(index))
      }
      const [first] = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(broadcast.stream, 1)))
      assert.isAbove(Number(first!.slice(8_000)), 1_000 - 135)
      assert.isBelow(Number(first!.slice(8_000)), 1_000 - 125)
    })
  )

  it.scoped("frees the room of values that a reader took", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<string>({ capacity: 10, key: (value) => value, early: false })
      const stream = yield* broadcast.subscribe
      const values = ["a", "b", "c", "d"].map((letter) => letter.repeat(400_000))
      const read = yield* Effect.fork(Stream.runCollect(stream))
      for (const value of values) {
        broadcast.publish(value)
        yield* Effect.yieldNow()
        yield* Effect.yieldNow()
      }
      broadcast.end()
      assert.lengthOf(Chunk.toReadonlyArray(yield* Fiber.join(read)), 4)
    })
  )
})
