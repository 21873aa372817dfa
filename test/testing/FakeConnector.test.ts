import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Random, TestClock } from "effect"
import { Connector } from "../../src/connection/Connector.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { configOf, connectTo } from "./fakeServers.js"

describe("the journal", () => {
  it.scoped("has time, server and attempt of each event", () =>
    Effect.gen(function* () {
      const { controls, layer } = yield* FakeConnector.make({ b: FakeConnector.open({ latency: 5 }) })
      const connect = Effect.flatMap(Connector, ({ connect }) => connect({ server: "b", config: configOf() }))
      yield* Effect.forkScoped(Effect.provide(connect, layer))
      yield* TestClock.adjust(5)
      assert.deepStrictEqual(yield* controls.journal, [
        { at: 0, server: "b", attempt: 1, type: "opening" },
        { at: 5, server: "b", attempt: 1, type: "opened" }
      ])
    })
  )

  it.scoped("is provided by the layer", () =>
    Effect.gen(function* () {
      const { connect } = yield* Connector
      yield* connect({ server: "a", config: configOf({ url: "http://localhost/" }) })
      const controls = yield* FakeConnector.Controls
      assert.strictEqual(yield* controls.openSessions("a"), 1)
      assert.strictEqual(yield* controls.openSessions("b"), 0)
    }).pipe(Effect.provide(FakeConnector.layer({ a: FakeConnector.open() })))
  )
})

describe("any history", () => {
  const seeds = Array.from({ length: 8 }, (_, index) => `seed ${index}`)

  /** Connects, calls, crashes, interrupts and closes at random, then releases everything. */
  const history = Effect.gen(function* () {
    const delay = Effect.map(Random.nextIntBetween(0, 50), Duration.millis)
    const fake = yield* FakeConnector.make({
      a: FakeConnector.open({
        latency: 10,
        calls: () => Effect.flatMap(delay, Effect.sleep).pipe(Effect.as(FakeConnector.text("x")))
      })
    })
    const use = Effect.gen(function* () {
      const session = yield* connectTo(fake)
      const patience = yield* delay
      const calls = Effect.forEach([1, 2, 3], () => Effect.timeoutOption(session.callTool("x"), patience), {
        concurrency: "unbounded"
      })
      yield* Effect.exit(calls)
      yield* Effect.sleep(yield* delay)
    })
    const user = Effect.gen(function* () {
      yield* Effect.sleep(yield* delay)
      const patience = yield* delay
      yield* Effect.timeoutOption(Effect.scoped(use), patience)
    })
    const vandal = Effect.gen(function* () {
      yield* Effect.sleep(yield* delay)
      const attempts = yield* fake.controls.attempts("a")
      yield* Effect.forEach(attempts, (attempt) => attempt.crash())
    })
    const all = yield* Effect.fork(
      Effect.all([...Array.from({ length: 10 }, () => user), vandal], { concurrency: "unbounded" })
    )
    for (let each = 0; each < 12; each++) {
      yield* TestClock.adjust("10 millis")
      const journal = yield* fake.controls.journal
      const opened = journal.filter(({ type }) => type === "opened")
      const closed = journal.filter(
        (entry) => entry.type === "closed" && opened.some(({ attempt }) => attempt === entry.attempt)
      )
      assert.strictEqual(yield* fake.controls.openSessions(), opened.length - closed.length)
    }
    yield* Fiber.join(all)
    return fake
  })

  it.effect.each(seeds)("ends each attempt and each call exactly once: %s", (seed) =>
    Effect.gen(function* () {
      const { controls } = yield* history
      const journal = yield* controls.journal
      const count = (...types: ReadonlyArray<FakeConnector.Entry["type"]>) =>
        journal.filter(({ type }) => types.includes(type)).length
      assert.strictEqual(count("opening"), 10)
      assert.strictEqual(count("opening"), count("closed"))
      assert.strictEqual(count("opening"), count("opened", "failed", "abandoned"))
      assert.strictEqual(count("called"), count("settled", "cancelled"))
      assert.strictEqual(yield* controls.unclosed(), 0)
      const ends = journal.flatMap((entry) =>
        entry.type === "settled" || entry.type === "cancelled" ? [entry.call] : []
      )
      assert.strictEqual(new Set(ends).size, ends.length)
    }).pipe(Effect.withRandom(Random.make(seed)))
  )
})
