import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Stream } from "effect"
import * as Broadcast from "../../src/connection/Broadcast.js"

describe("Broadcast", () => {
  it.scoped("keeps what is said early for the first reader, and only for it", () =>
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

  it.scoped("of values with the same key only the newest waits", () =>
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

  it.effect("a reader that does not keep up misses the oldest", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<number>({ capacity: 3, early: true })
      for (let value = 1; value <= 5; value += 1) broadcast.publish(value)
      broadcast.end()
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(broadcast.stream)), [3, 4, 5])
    })
  )

  it.scoped("a subscription hears what is said before it is read", () =>
    Effect.gen(function* () {
      const broadcast = Broadcast.make<number>({ capacity: 3, early: false })
      broadcast.publish(1)
      const stream = yield* broadcast.subscribe
      broadcast.publish(2)
      broadcast.end()
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(stream)), [2])
    })
  )
})
