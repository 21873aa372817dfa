import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { CatalogStore, layerMemory } from "../../src/supervision/catalog/CatalogStore.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, failsWith, local, passed, resultOf, settle, supervise, textOf, withRandom } from "./support.js"

const lazy = { ...local, lazy: true } as const
const open = { a: FakeConnector.open({ tools: ["x"], resources: ["file:///x"] }) }

/** A store that two supervisors can share. */
const sharedStore = Effect.map(Layer.build(layerMemory), (context) => Layer.succeedContext(context))

/** A lazy server that was used once, so that the store has its listing. */
const known = (config: object = {}) =>
  Effect.gen(function* () {
    const store = yield* sharedStore
    const first = yield* supervise({ servers: { a: { ...lazy, ...config } } }, { scripts: open, store })
    yield* first.supervisor.connect("a")
    yield* settle
    yield* first.close
    return store
  })

describe("a lazy server", () => {
  it.scoped("is idle and settled until it is used", () =>
    Effect.gen(function* () {
      const { status, story, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      assert.deepStrictEqual(yield* status("a"), { status: "idle", since: 0 })
      const [snapshot] = yield* supervisor.awaitSettled()
      assert.strictEqual(snapshot?.status.status, "idle")
      yield* passed("10 minutes")
      assert.deepStrictEqual(yield* story(), [])
    })
  )

  it.scoped("is listed from the catalog store without being started", () =>
    Effect.gen(function* () {
      const store = yield* known()
      const { snapshot, story, supervisor, toolNames } = yield* supervise(
        { servers: { a: lazy } },
        { scripts: open, store }
      )
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      assert.deepInclude(yield* snapshot("a"), { tools: 1, resources: 1, generation: 0 })
      assert.deepStrictEqual(yield* story(), [])
      const catalog = yield* supervisor.catalog
      yield* supervisor.callTool("a_x")
      assert.strictEqual(yield* supervisor.catalog, catalog)
    })
  )

  it.scoped("uses nothing from the store that another config saved", () =>
    Effect.gen(function* () {
      const store = yield* known()
      const { toolNames } = yield* supervise(
        { servers: { a: { ...lazy, args: ["--other"] } } },
        { scripts: open, store }
      )
      assert.deepStrictEqual(yield* toolNames, [])
    })
  )

  it.scoped("is started once by five concurrent calls, which all succeed", () =>
    Effect.gen(function* () {
      const { count, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      const calls = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.fork(supervisor.callTool("a_x")))
      for (const call of calls) assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "x")
      assert.strictEqual(yield* count("a#1 opening"), 1)
      assert.strictEqual(yield* count("a#2 opening"), 0)
    })
  )

  it.scoped("is started by a read and by a subscription", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      yield* supervisor.readResource("a", "file:///x")
      assert.strictEqual((yield* status("a")).status, "connected")
      const other = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      yield* Effect.forkScoped(Stream.runDrain(other.supervisor.subscribeResource("a", "file:///x")))
      assert.strictEqual((yield* other.status("a")).status, "connected")
      assert.strictEqual(yield* controls.openSessions("a"), 1)
    })
  )

  it.scoped("is not started by a call with invalid arguments", () =>
    Effect.gen(function* () {
      const store = yield* known()
      const { story, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open, store })
      yield* failsWith(supervisor.callTool("a_y"), "ToolNotFound")
      assert.deepStrictEqual(yield* story(), [])
    })
  )

  it.scoped("fails with ToolNotFound for a stored tool that it no longer lists", () =>
    Effect.gen(function* () {
      const store = yield* known()
      const { supervisor, toolNames } = yield* supervise(
        { servers: { a: lazy } },
        { scripts: { a: FakeConnector.open({ tools: ["y"] }) }, store }
      )
      yield* failsWith(supervisor.callTool("a_x"), "ToolNotFound")
      assert.deepStrictEqual(yield* toolNames, ["a_y"])
    })
  )

  it.scoped("is reconnected after a crash", () =>
    Effect.gen(function* () {
      const { controls, snapshot, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      yield* supervisor.connect("a")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
    })
  )

  it.scoped("is started by connect and restart, not by enable", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: lazy } }, { scripts: open })
      assert.strictEqual((yield* supervisor.connect("a")).status, "connected")
      yield* supervisor.disable("a")
      yield* supervisor.enable("a")
      assert.strictEqual((yield* status("a")).status, "idle")
      assert.strictEqual((yield* supervisor.restart("a")).status, "connected")
    })
  )
})

describe("idleStop", () => {
  const resting = { ...lazy, idleStop: "1 minute" } as const

  it.scoped("stops an unused server, which stays listed and is started by the next call", () =>
    Effect.gen(function* () {
      const { controls, count, status, supervisor, toolNames } = yield* supervise(
        { servers: { a: resting } },
        { scripts: open }
      )
      yield* supervisor.callTool("a_x")
      yield* passed("59 seconds")
      assert.strictEqual((yield* status("a")).status, "connected")
      yield* passed("1 second")
      assert.strictEqual((yield* status("a")).status, "idle")
      assert.strictEqual(yield* controls.unclosed(), 0)
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      yield* passed("1 hour")
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      yield* supervisor.callTool("a_x")
      assert.strictEqual(yield* count("a#2 opening"), 1)
    })
  )

  it.scoped("restarts the time with each use", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: resting } }, { scripts: open })
      for (let i = 0; i < 4; i++) {
        yield* supervisor.callTool("a_x")
        yield* passed("50 seconds")
      }
      assert.strictEqual((yield* status("a")).status, "connected")
      yield* passed("10 seconds")
      assert.strictEqual((yield* status("a")).status, "idle")
    })
  )

  it.scoped("never stops a server during a call", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise(
        { servers: { a: { ...resting, timeout: { call: "1 hour" } } } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      const pending = yield* controls.awaitCall("a")
      yield* passed("30 minutes")
      assert.strictEqual((yield* status("a")).status, "connected")
      yield* pending.answer(FakeConnector.text("done"))
      yield* Fiber.join(call)
      yield* passed("2 minutes")
      assert.strictEqual((yield* status("a")).status, "idle")
    })
  )

  it.scoped("never stops a server with a resource subscription", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: resting } }, { scripts: open })
      const listening = yield* Effect.fork(Stream.runDrain(supervisor.subscribeResource("a", "file:///x")))
      yield* passed("30 minutes")
      assert.strictEqual((yield* status("a")).status, "connected")
      yield* Fiber.interrupt(listening)
      yield* passed("2 minutes")
      assert.strictEqual((yield* status("a")).status, "idle")
    })
  )

  it.scoped("never stops a server while a list is fetched", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise(
        { servers: { a: { ...resting, timeout: { list: "5 minutes" }, health: false } } },
        { scripts: open }
      )
      yield* supervisor.connect("a")
      const attempt = yield* controls.awaitAttempt("a")
      yield* passed("30 seconds")
      yield* attempt.set({ tools: Effect.never })
      yield* attempt.listChanged("tools")
      yield* passed("4 minutes")
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("answers a call that arrives while the server stops", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: resting } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], closeTakes: "1 second" }) } }
      )
      yield* supervisor.connect("a")
      yield* passed("1 minute")
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("2 seconds")
      assert.strictEqual(textOf(yield* call), "x")
    }).pipe(withRandom(0.5))
  )

  it.scoped("never stops a server that is not lazy", () =>
    Effect.gen(function* () {
      const { status } = yield* supervise({ servers: { a: { ...local, idleStop: "1 minute" } } }, { scripts: open })
      yield* passed("10 minutes")
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )
})

describe("the cached listing", () => {
  it.scoped("is saved when it changes, and only then", () =>
    Effect.gen(function* () {
      const saved: Array<ReadonlyArray<string>> = []
      const store = Layer.succeed(CatalogStore, {
        load: () => Effect.succeedNone,
        save: (_, __, { listings }) => Effect.sync(() => void saved.push(listings.tools.map(({ name }) => name)))
      })
      const { controls, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open, store })
      yield* supervisor.restart("a")
      yield* settle
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: ["x", "y"] })
      yield* attempt.listChanged("tools")
      yield* settle
      assert.deepStrictEqual(saved, [["x"], ["x", "y"]])
    })
  )
})

describe("a very large number of first calls", () => {
  it.scoped("sends one demand", () =>
    Effect.gen(function* () {
      const store = layerMemory
      const { controls, count, supervisor } = yield* supervise(
        { servers: { a: { ...local, lazy: true } } },
        { scripts: { a: FakeConnector.byHand }, store }
      )
      const calls = yield* Effect.forEach(Array.from({ length: 1_000 }), () =>
        Effect.fork(supervisor.callServerTool("a", "x"))
      )
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ tools: ["x"] }))
      for (const result of yield* Effect.forEach(calls, Fiber.join)) assert.strictEqual(textOf(result), "x")
      assert.strictEqual(yield* count("a#1 opening"), 1)
    })
  )
})
