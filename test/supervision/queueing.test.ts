import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Random } from "effect"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, failureOf, isOver, local, passed, resultOf, settle, supervise, textOf } from "./support.js"

/** A server with a limit of concurrent calls, which the test answers. */
const busy = (concurrency: number, config: object = {}) =>
  Effect.gen(function* () {
    const harness = yield* supervise(
      { servers: { a: { ...local, concurrency, ...config } } },
      { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
    )
    const call = (id: number, options = {}) =>
      Effect.zipLeft(Effect.fork(harness.supervisor.callTool("a_x", { id }, options)), settle)
    const next = harness.controls.awaitCall("a")
    const sent = Effect.map(harness.controls.journal, (entries) =>
      entries.flatMap((entry) => (entry.type === "called" ? [entry.args.id] : []))
    )
    return { ...harness, call, next, sent }
  })

describe("concurrency", () => {
  it.scoped("limits the calls in flight and sends the others in order", () =>
    Effect.gen(function* () {
      const { call, next, sent } = yield* busy(2)
      const calls = yield* Effect.forEach([1, 2, 3, 4, 5], (id) => call(id))
      assert.deepStrictEqual(yield* sent, [1, 2])
      for (const id of [1, 2, 3, 4, 5]) {
        const pending = yield* next
        assert.strictEqual(pending.args.id, id)
        yield* pending.answer(FakeConnector.text(String(id)))
        yield* settle
      }
      assert.deepStrictEqual(yield* sent, [1, 2, 3, 4, 5])
      const results = yield* Effect.forEach(calls, Fiber.join)
      assert.deepStrictEqual(results.map(textOf), ["1", "2", "3", "4", "5"])
    })
  )

  it.scoped("has no limit by default", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.fork(supervisor.callTool("a_x")))
      yield* settle
      const called = (yield* controls.journal).filter(({ type }) => type === "called")
      assert.lengthOf(called, 100)
    })
  )

  it.scoped("queues 1000 calls and fails further ones with Overloaded", () =>
    Effect.gen(function* () {
      const { sent, supervisor } = yield* busy(1)
      yield* Effect.forEach(Array.from({ length: 1001 }), () => Effect.fork(supervisor.callTool("a_x", { id: 0 })))
      yield* settle
      const error = failureOf(yield* Effect.exit(supervisor.callTool("a_x", { id: 1 })), "Overloaded")
      assert.strictEqual(error.queued, 1000)
      assert.deepStrictEqual(yield* sent, [0])
    })
  )

  it.scoped("counts the time in the queue towards the total timeout", () =>
    Effect.gen(function* () {
      const { call, next, sent } = yield* busy(1)
      yield* call(1)
      const late = yield* call(2, { totalTimeout: "5 seconds" })
      yield* passed("5 seconds")
      assert.deepInclude(failureOf(yield* resultOf(late), "CallTimeout"), { which: "total", sent: false, after: 5000 })
      yield* Effect.flatMap(next, (pending) => pending.answer(FakeConnector.text("1")))
      yield* settle
      assert.deepStrictEqual(yield* sent, [1])
    })
  )

  it.scoped("does not count the time in the queue towards the idle timeout", () =>
    Effect.gen(function* () {
      const { call, next } = yield* busy(1, { timeout: { call: "10 seconds" } })
      yield* call(1, { idleTimeout: "1 hour" })
      const patient = yield* call(2)
      yield* passed("1 minute")
      assert.isFalse(yield* isOver(patient))
      yield* Effect.flatMap(next, (pending) => pending.answer(FakeConnector.text("1")))
      yield* Effect.flatMap(next, (pending) => pending.answer(FakeConnector.text("2")))
      assert.strictEqual(textOf(yield* patient), "2")
    })
  )

  it.scoped("removes an interrupted call from the queue and sends nothing", () =>
    Effect.gen(function* () {
      const { call, next, sent, story } = yield* busy(1)
      yield* call(1)
      const second = yield* call(2)
      yield* call(3)
      yield* Fiber.interrupt(second)
      yield* Effect.flatMap(next, (pending) => pending.answer(FakeConnector.text("1")))
      yield* settle
      assert.deepStrictEqual(yield* sent, [1, 3])
      assert.deepStrictEqual(yield* story("a#1 cancelled"), [])
    })
  )

  it.scoped("cancels an interrupted call once if it was sent, and sends the next one", () =>
    Effect.gen(function* () {
      const { call, count, sent, snapshot } = yield* busy(1)
      const first = yield* call(1)
      yield* call(2)
      yield* Fiber.interrupt(first)
      yield* settle
      assert.strictEqual(yield* count("a#1 cancelled"), 1)
      assert.deepStrictEqual(yield* sent, [1, 2])
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("sends queued calls to the next connection when the server dies", () =>
    Effect.gen(function* () {
      const { call, controls, next } = yield* busy(1)
      const first = yield* call(1)
      const second = yield* call(2)
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      failureOf(yield* resultOf(first), "OutcomeUnknown")
      const pending = yield* next
      assert.deepInclude(pending, { attempt: 2, args: { id: 2 } })
      yield* pending.answer(FakeConnector.text("2"))
      assert.strictEqual(textOf(yield* second), "2")
    })
  )

  it.scoped("keeps the order of arrival for a call that lost its turn with its server", () =>
    Effect.gen(function* () {
      const { call, controls, next, sent } = yield* busy(2)
      for (const id of [1, 2, 3, 4, 5]) yield* call(id)
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      yield* next
      assert.deepStrictEqual(yield* sent, [1, 2, 3, 4])
    })
  )

  it.scoped("applies a new limit at once", () =>
    Effect.gen(function* () {
      const { call, sent, snapshot, supervisor } = yield* busy(1)
      for (const id of [1, 2, 3]) yield* call(id)
      yield* supervisor.reconcile({ servers: { a: { ...local, concurrency: 3 } } })
      yield* settle
      assert.deepStrictEqual(yield* sent, [1, 2, 3])
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  for (const seed of ["north", "east", "south", "west"]) {
    it.scoped(`loses no turn in an interrupt storm with the ${seed}`, () => storm(seed))
  }
})

/** Random calls, answers, interrupts and lost servers; after that, everything works as before. */
const storm = (seed: string) =>
  Effect.gen(function* () {
    const { call, controls, next, supervisor } = yield* busy(2, { restart: { maxRestarts: "none" } })
    const fibers: Array<Fiber.RuntimeFiber<unknown, unknown>> = []
    for (let id = 0; id < 60; id++) {
      const chance = yield* Random.next
      if (chance < 0.5) fibers.push(yield* call(id))
      else if (chance < 0.8 && fibers.length > 0) {
        const index = yield* Random.nextIntBetween(0, fibers.length)
        yield* Fiber.interruptFork(fibers[index]!)
      } else if (chance < 0.95) {
        const pending = yield* Effect.timeoutOption(next, 0)
        if (pending._tag === "Some") yield* pending.value.answer(FakeConnector.text("answer"))
      } else {
        const attempts = yield* controls.attempts("a")
        yield* attempts.at(-1)!.crash(closed())
        yield* passed("1 minute")
      }
    }
    yield* Effect.forEach(fibers, Fiber.interruptFork)
    yield* passed("1 minute")
    // both turns are free, and no third one
    const last = yield* Effect.forEach([1, 2, 3], (id) => call(1000 + id))
    const answered = yield* Effect.forEach([1, 2], () => next)
    assert.deepStrictEqual(
      answered.map(({ args }) => args.id),
      [1001, 1002]
    )
    for (const pending of answered) yield* pending.answer(FakeConnector.text("end"))
    yield* Effect.flatMap(next, (pending) => pending.answer(FakeConnector.text("end")))
    for (const fiber of last) assert.isTrue(Exit.isSuccess(yield* resultOf(fiber)))
    yield* supervisor.disable("a")
  }).pipe(Effect.withRandom(Random.make(seed)))
