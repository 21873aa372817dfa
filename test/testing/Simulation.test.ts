import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  FastCheck as fc,
  Fiber,
  FiberMap,
  Mailbox,
  Option,
  Random,
  Runtime,
  Stream
} from "effect"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { makeTimers } from "../../src/testing/Simulation/timers.js"
import { FakeConnector, Simulation } from "../../src/testing/Testing.js"

/** Five workers that sleep, draw random numbers, communicate and yield; their results depend on their order. */
const bustle = (trace: Array<string>) =>
  Effect.gen(function* () {
    const workers = yield* FiberMap.make<number>()
    const mailbox = yield* Mailbox.make<string>()
    const runtime = yield* Effect.runtime<never>()
    const work = (id: number) =>
      Effect.gen(function* () {
        for (let round = 0; round < 10; round++) {
          yield* Effect.sleep("1 second")
          const drawn = yield* Random.nextIntBetween(0, 100)
          yield* mailbox.offer(`${id}:${drawn}`)
          yield* Effect.yieldNow()
          trace.push(`${id}@${yield* Clock.currentTimeMillis}`)
        }
      })
    yield* Effect.forEach([1, 2, 3], (id) => FiberMap.run(workers, id, work(id)), { discard: true })
    // like code that receives a callback from outside
    for (const id of [4, 5]) yield* FiberMap.set(workers, id, Runtime.runFork(runtime)(work(id)))
    yield* Effect.fork(Stream.runForEach(Mailbox.toStream(mailbox), (line) => Effect.sync(() => trace.push(line))))
    yield* FiberMap.awaitEmpty(workers)
  }).pipe(Effect.scoped)

const traceOf = (seed: number | string): ReadonlyArray<string> => {
  const trace: Array<string> = []
  const simulation = Simulation.make(seed)
  assert.isTrue(Exit.isSuccess(simulation.run(bustle(trace))))
  assert.strictEqual(simulation.elapsed(), 10_000)
  return trace
}

describe("the order of execution", () => {
  it("is equal for equal seeds", () => {
    for (const seed of [1, 2, "three", 4.5, -6]) assert.deepStrictEqual(traceOf(seed), traceOf(seed))
  })

  it("is different for different seeds", () => {
    const orders = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => traceOf(seed).join())
    assert.strictEqual(new Set(orders).size, orders.length)
  })

  it("can be any order in which fibers can run", () => {
    const order = (seed: number) => {
      const seen: Array<number> = []
      const simulation = Simulation.make(seed)
      for (const id of [1, 2, 3]) simulation.fork(Effect.sync(() => seen.push(id)))
      simulation.settle()
      return seen.join("")
    }
    const orders = new Set(Array.from({ length: 200 }, (_, seed) => order(seed)))
    assert.deepStrictEqual([...orders].sort(), ["123", "132", "213", "231", "312", "321"])
  })

  it("keeps the order within one fiber", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const simulation = Simulation.make(seed)
        const seen: Array<number> = []
        simulation.fork(
          Effect.forEach([1, 2, 3, 4], (each) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => seen.push(each))
            )
          )
        )
        simulation.settle()
        assert.deepStrictEqual(seen, [1, 2, 3, 4])
      })
    )
  })

  it("lets a fiber yield between any two of its steps", () => {
    const interleaved = (seed: number) => {
      const simulation = Simulation.make(seed)
      const seen: Array<string> = []
      const busy = (name: string) =>
        Effect.loop(0, {
          while: (n) => n < 100,
          step: (n) => n + 1,
          discard: true,
          body: () => Effect.sync(() => seen.push(name))
        })
      simulation.fork(busy("a"))
      simulation.fork(busy("b"))
      simulation.settle()
      return /ab+a/.test(seen.join("")) || /ba+b/.test(seen.join(""))
    }
    assert.isTrue(Array.from({ length: 100 }, (_, seed) => interleaved(seed)).some((mixed) => mixed))
  })

  it("interleaves a fiber that never waits with others", () => {
    const simulation = Simulation.make(1, { maxSteps: 1_000 })
    let reached = false
    simulation.fork(Effect.forever(Effect.void))
    simulation.fork(
      Effect.sync(() => {
        reached = true
      })
    )
    assert.throws(() => simulation.settle(), /did not come to rest within 1000 steps/)
    assert.isTrue(reached)
  })
})

describe("virtual time", () => {
  it("passes only when it is advanced, timer by timer", () => {
    const simulation = Simulation.make(1)
    const woken: Array<number> = []
    const sleeper = (millis: number) =>
      Effect.zipRight(
        Effect.sleep(millis),
        Effect.clockWith((clock) => Effect.sync(() => woken.push(clock.unsafeCurrentTimeMillis())))
      )
    for (const millis of [300, 100, 200, 100, 1_000]) simulation.fork(sleeper(millis))
    simulation.settle()
    assert.deepStrictEqual(woken, [])
    assert.strictEqual(simulation.pendingTimers(), 5)
    simulation.advance(250)
    assert.deepStrictEqual(woken, [100, 100, 200])
    assert.strictEqual(simulation.elapsed(), 250)
    simulation.advance("1 hour")
    assert.deepStrictEqual(woken, [100, 100, 200, 300, 1_000])
    assert.strictEqual(simulation.pendingTimers(), 0)
    assert.strictEqual(simulation.now(), 3_600_250)
  })

  it("does not pass if nothing waits for it", () => {
    const simulation = Simulation.make(1)
    const fiber = simulation.fork(Effect.sleep(0))
    simulation.settle()
    assert.isNotNull(fiber.unsafePoll())
    assert.strictEqual(simulation.elapsed(), 0)
  })

  it("has whole milliseconds", () => {
    const simulation = Simulation.make(1)
    const fiber = simulation.fork(Effect.zipRight(Effect.sleep(Duration.micros(1_200n)), Clock.currentTimeNanos))
    simulation.advance(0.5)
    assert.strictEqual(simulation.elapsed(), 1)
    simulation.advance(1)
    assert.deepStrictEqual(fiber.unsafePoll(), Exit.succeed(2_000_000n))
  })

  it("can move the wall clock ahead of timers and of the monotonic clock", () => {
    const simulation = Simulation.make(1)
    const both = Effect.all([Clock.currentTimeMillis, Clock.currentTimeNanos])
    const fiber = simulation.fork(Effect.zipRight(Effect.sleep("10 seconds"), both))
    simulation.advance("4 seconds")
    simulation.jump("1 hour")
    simulation.settle()
    assert.isNull(fiber.unsafePoll())
    assert.strictEqual(simulation.now(), 3_604_000)
    assert.strictEqual(simulation.elapsed(), 4_000)
    simulation.advance("6 seconds")
    assert.deepStrictEqual(fiber.unsafePoll(), Exit.succeed([3_610_000, 10_000_000_000n]))
  })

  it("removes the timer of an interrupted fiber", () => {
    const simulation = Simulation.make(1)
    const fiber = simulation.fork(Effect.sleep("1 hour"))
    simulation.settle()
    assert.strictEqual(simulation.pendingTimers(), 1)
    assert.isTrue(Exit.isSuccess(simulation.run(Fiber.interrupt(fiber))))
    assert.strictEqual(simulation.pendingTimers(), 0)
    assert.strictEqual(simulation.elapsed(), 0)
  })

  it("never ends a sleep that is longer than the maximum timer of Node", () => {
    const simulation = Simulation.make(1)
    const fibers = [Duration.infinity, Duration.days(25)].map((duration) => simulation.fork(Effect.sleep(duration)))
    simulation.advance("100 days")
    assert.deepStrictEqual(
      fibers.map((fiber) => fiber.unsafePoll()),
      [null, null]
    )
  })
})

describe("run", () => {
  it("takes as much virtual time as the effect needs", () => {
    const simulation = Simulation.make(1)
    const never = Effect.timeoutOption(Effect.never, "3 hours")
    assert.deepStrictEqual(simulation.run(Effect.as(never, "done")), Exit.succeed("done"))
    assert.strictEqual(simulation.elapsed(), 10_800_000)
  })

  it("returns the failure of an effect", () => {
    assert.deepStrictEqual(Simulation.make(1).run(Effect.fail("no")), Exit.fail("no"))
  })

  it("throws if nothing can end the effect", () => {
    const outside = Effect.promise(() => Promise.resolve())
    for (const effect of [Effect.never, Effect.flatMap(Deferred.make<void>(), Deferred.await), outside]) {
      assert.throws(() => Simulation.make(1).run(effect), /nothing in the simulation is left to happen/)
    }
  })

  it("throws if time passes without end", () => {
    const ticking = Effect.forever(Effect.sleep("1 second"))
    assert.throws(() => Simulation.make(1, { maxSteps: 1_000 }).run(ticking), /did not end within 1000 steps/)
  })
})

it("calls back whenever it is idle", () => {
  const moments: Array<number> = []
  const simulation = Simulation.make(1, { onRest: () => moments.push(simulation.elapsed()) })
  simulation.fork(Effect.repeatN(Effect.sleep("1 second"), 2))
  simulation.advance("1 minute")
  assert.deepStrictEqual(moments, [0, 1_000, 2_000, 3_000])
})

it("controls a fake connector", () => {
  const simulation = Simulation.make(7)
  const hung = Effect.gen(function* () {
    const { connector } = yield* FakeConnector.make({ a: FakeConnector.hang })
    const { config } = yield* Effect.orDie(ServerConfig.decode("a", { command: "a", timeout: "20 seconds" }))
    return yield* Effect.flip(connector.connect({ server: "a", config: Option.getOrThrow(config) }))
  })
  const exit = simulation.run(Effect.scoped(hung))
  assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "ConnectTimeout")
  assert.strictEqual(simulation.elapsed(), 20_000)
  assert.strictEqual(simulation.pendingTimers(), 0)
})

describe("timers", () => {
  it("fire in the order of their time, then of their creation, and not if they were cancelled", () => {
    const plan = fc.array(fc.record({ at: fc.nat({ max: 20 }), cancelled: fc.boolean() }), { maxLength: 60 })
    fc.assert(
      fc.property(plan, (all) => {
        const timers = makeTimers()
        const fired: Array<number> = []
        const cancels = all.map(({ at }, index) => timers.add(at, () => fired.push(index)))
        all.forEach(({ cancelled }, index) => {
          if (!cancelled) return
          assert.isTrue(cancels[index]!())
          assert.isFalse(cancels[index]!(), "cancelled twice")
        })
        const expected = all
          .map(({ at, cancelled }, index) => ({ at, cancelled, index }))
          .filter(({ cancelled }) => !cancelled)
          .sort((a, b) => a.at - b.at || a.index - b.index)
        assert.strictEqual(timers.size(), expected.length)
        for (const { at } of expected) {
          assert.strictEqual(timers.nextAt(), at)
          timers.take()!()
        }
        assert.isUndefined(timers.take())
        assert.deepStrictEqual(
          fired,
          expected.map(({ index }) => index)
        )
        for (const cancel of cancels) assert.isFalse(cancel(), "cancelled after it fired")
      })
    )
  })
})
