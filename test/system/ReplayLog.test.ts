import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Stream } from "effect"
import * as ReplayLog from "../../src/system/stream/ReplayLog.js"
import { Simulation } from "../../src/testing/Testing.js"
import { isOver, resultOf, settle } from "../supervision/support.js"

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

const ringOf = (capacity: number, values: ReadonlyArray<number>) => {
  const ring = ReplayLog.make<number | string>({ capacity, missed: (from, to) => `${from}-${to}` })
  values.forEach(ring.push)
  return ring
}

const read = <A>(stream: Stream.Stream<A>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

describe("ReplayLog", () => {
  it("numbers values from 1", () => {
    const ring = ringOf(3, [])
    assert.strictEqual(ring.next(), 1)
    ring.push(10)
    assert.strictEqual(ring.next(), 2)
  })

  it.effect("streams the kept values, then new ones, then ends", () =>
    Effect.gen(function* () {
      const ring = ringOf(10, [1, 2, 3])
      const reader = yield* Effect.fork(read(ring.from(() => 2)))
      yield* settle
      ring.push(4)
      yield* settle
      ring.push(5)
      ring.end()
      assert.deepStrictEqual(yield* Fiber.join(reader), [2, 3, 4, 5])
    })
  )

  it.effect("ends readers after the kept values and accepts no further value", () =>
    Effect.gen(function* () {
      const ring = ringOf(10, [1, 2])
      ring.end()
      ring.push(3)
      assert.deepStrictEqual(yield* read(ring.from(() => 1)), [1, 2])
      assert.deepStrictEqual(yield* read(ring.from(ring.next)), [])
    })
  )

  it.effect("reports dropped values once", () =>
    Effect.gen(function* () {
      const ring = ringOf(3, numbers(1, 7))
      ring.end()
      assert.deepStrictEqual(yield* read(ring.from(() => 2)), ["2-4", 5, 6, 7])
      assert.deepStrictEqual(yield* read(ring.from(() => 5)), [5, 6, 7])
    })
  )

  it.effect("skips dropped values without a report if no report is given", () =>
    Effect.gen(function* () {
      const ring = ReplayLog.make<number>({ capacity: 2 })
      numbers(1, 5).forEach(ring.push)
      ring.end()
      assert.deepStrictEqual(yield* read(ring.from(() => 1)), [4, 5])
    })
  )

  it.effect("keeps as many values as have room, and always the newest", () =>
    Effect.gen(function* () {
      const make = (values: ReadonlyArray<number>) => {
        const ring = ReplayLog.make<number | string>({
          capacity: 5,
          room: { total: 10, of: Number },
          missed: (from, to) => `${from}-${to}`
        })
        values.forEach(ring.push)
        ring.end()
        return read(ring.from(() => 1))
      }
      assert.deepStrictEqual(yield* make([4, 4, 2]), [4, 4, 2])
      assert.deepStrictEqual(yield* make([4, 4, 3]), ["1-1", 4, 3])
      assert.deepStrictEqual(yield* make([1, 2, 3, 99]), ["1-3", 99])
      assert.deepStrictEqual(yield* make([99, 1]), ["1-1", 1])
      assert.deepStrictEqual(yield* make([9, 1, 1, 1, 1, 1, 1, 5]), ["1-3", 1, 1, 1, 1, 5])
      assert.deepStrictEqual(yield* make([1, 1, 1, 1, 1, 1, 1, 8]), ["1-5", 1, 1, 8])
    })
  )

  it.effect("reports to a reader which values were dropped while it read", () =>
    Effect.gen(function* () {
      const ring = ringOf(300, numbers(1, 300))
      const seen: Array<number | string> = []
      const slow = ring
        .from(() => 1)
        .pipe(
          Stream.rechunk(1),
          Stream.tap((value) =>
            Effect.sync(() => {
              seen.push(value)
              // everything that it has not read yet is overwritten while it handles the first value
              if (value === 1) numbers(301, 1000).forEach(ring.push)
              if (value === 1000) ring.end()
            })
          )
        )
      yield* Stream.runDrain(slow)
      assert.deepStrictEqual(seen, [...numbers(1, 256), "257-700", ...numbers(701, 1000)])
    })
  )

  for (const [what, first] of [
    ["a number nobody has given out yet", 99],
    ["no number at all", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY]
  ] as const) {
    it.effect(`starts at the next value for ${what}`, () =>
      Effect.gen(function* () {
        const ring = ringOf(10, [1, 2])
        const reader = yield* Effect.fork(read(ring.from(() => first)))
        yield* settle
        ring.push(3)
        ring.end()
        assert.deepStrictEqual(yield* Fiber.join(reader), [3])
      })
    )
  }

  it.effect("starts at the first value for 0, a negative number and a fraction", () =>
    Effect.gen(function* () {
      const ring = ringOf(10, [1, 2])
      ring.end()
      assert.deepStrictEqual(yield* read(ring.from(() => 0)), [1, 2])
      assert.deepStrictEqual(yield* read(ring.from(() => -7)), [1, 2])
      assert.deepStrictEqual(yield* read(ring.from(() => 1.9)), [1, 2])
    })
  )

  it.effect("evaluates the start each time the stream is run", () =>
    Effect.gen(function* () {
      const ring = ringOf(10, [1])
      const live = ring.from(ring.next)
      ring.push(2)
      const reader = yield* Effect.fork(read(Stream.take(live, 1)))
      yield* settle
      ring.push(3)
      assert.deepStrictEqual(yield* Fiber.join(reader), [3])
    })
  )

  it.effect("gives each reader its own position, and does not wait for readers that are gone", () =>
    Effect.gen(function* () {
      const ring = ringOf(10, [1, 2])
      const all = yield* Effect.fork(read(ring.from(() => 1)))
      const gone = yield* Effect.fork(read(ring.from(() => 1)))
      yield* settle
      yield* Fiber.interrupt(gone)
      ring.push(3)
      assert.isFalse(yield* isOver(all))
      ring.end()
      assert.deepStrictEqual(yield* Effect.flatten(resultOf(all)), [1, 2, 3])
    })
  )
})

describe("a reader that yields at any moment", () => {
  const values = Array.from({ length: 40 }, (_, index) => index)

  /** The values that it reads while another fiber writes, in an order that the seed decides. */
  const read = (seed: number) => {
    const simulation = Simulation.make(seed)
    const ring = ReplayLog.make<number>({ capacity: 100 })
    const seen: Array<number> = []
    const reading = simulation.fork(
      Stream.runForEach(
        ring.from(() => 1),
        (value) => Effect.sync(() => void seen.push(value))
      )
    )
    const write = (value: number) =>
      Effect.zipRight(
        Effect.sync(() => ring.push(value)),
        Effect.yieldNow()
      )
    simulation.fork(Effect.zipRight(Effect.forEach(values, write), Effect.sync(ring.end)))
    simulation.settle()
    return { isOver: reading.unsafePoll() !== null, seen }
  }

  it("receives a value that is added between its check and its wait", () => {
    for (let seed = 0; seed < 500; seed++) {
      assert.deepStrictEqual(read(seed), { isOver: true, seen: values }, `seed ${seed}`)
    }
  })
})
