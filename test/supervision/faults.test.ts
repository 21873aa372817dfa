import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import type { ConnectOptions } from "../../src/connection/Connector.js"
import type { Session } from "../../src/connection/Session.js"
import { CatalogStore } from "../../src/supervision/catalog/CatalogStore.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, failsWith, isOver, local, passed, type Setup, settle, supervise, textOf } from "./support.js"

const bothOpen = { a: FakeConnector.open({ tools: ["x"] }), b: FakeConnector.open({ tools: ["y"] }) }
const both = { servers: { a: local, b: local } }

/** Replaces the first attempts of server `a`. */
const firstAttempts =
  (count: number, fault: () => ReturnType<FakeConnector.FakeConnector["connector"]["connect"]>): Setup["around"] =>
  (connector) => {
    let attempts = 0
    return {
      connect: (options: ConnectOptions) =>
        options.server === "a" && ++attempts <= count ? fault() : connector.connect(options)
    }
  }

/** Changes the first sessions of server `a`. */
const firstSessions =
  (count: number, change: (session: Session) => Session): Setup["around"] =>
  (connector) => {
    let sessions = 0
    return {
      connect: (options) =>
        Effect.map(connector.connect(options), (session) =>
          options.server === "a" && ++sessions <= count ? change(session) : session
        )
    }
  }

const thrower = () => {
  throw new Error("a bug")
}

describe("a fault of the connector", () => {
  const faults: ReadonlyArray<readonly [string, NonNullable<Setup["around"]>]> = [
    ["a defect", firstAttempts(1, () => Effect.die(new Error("a bug")))!],
    ["a synchronous throw", firstAttempts(1, thrower)!],
    ["an interruption of its own", firstAttempts(1, () => Effect.interrupt)!],
    ["a throwing list", firstSessions(1, (session) => ({ ...session, listTools: Effect.suspend(thrower) }))!],
    [
      "a session that throws when it is asked about itself",
      firstSessions(1, (session) => ({
        ...session,
        get info() {
          return thrower()
        }
      }))!
    ],
    ["a throwing push", firstSessions(1, (session) => ({ ...session, push: Effect.suspend(thrower) }))!],
    ["an end that dies", firstSessions(1, (session) => ({ ...session, closed: Effect.die("a bug") }))!]
  ]

  for (const [what, around] of faults) {
    it.scoped(`${what} is an ordinary failure of that server only`, () =>
      Effect.gen(function* () {
        const { controls, eventsOf, snapshot, supervisor } = yield* supervise(both, { scripts: bothOpen, around })
        yield* passed("2 seconds")
        const a = yield* snapshot("a")
        assert.strictEqual(a.status.status, "connected")
        assert.isAtLeast(a.generation, 2)
        assert.strictEqual(textOf(yield* supervisor.callTool("a_x")), "x")
        assert.deepInclude(yield* snapshot("b"), { generation: 1, restarts: 0 })
        assert.lengthOf(
          eventsOf("StatusChanged").filter(({ server, to }) => server === "b" && to.status === "failed"),
          0
        )
        assert.strictEqual(yield* controls.openSessions("a"), 1)
      })
    )
  }

  it.scoped("a permanent one is shown with its message and retried by the policy", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstAttempts(1000, () => Effect.die(new Error("a bug")))
      })
      yield* passed("1 minute")
      const failed = yield* status("a")
      assert.deepInclude(failed, { status: "failed", errorTag: "UnexpectedFailure" })
      assert.include(failed.status === "failed" ? failed.error : "", "a bug")
      assert.property(failed, "gaveUp")
      yield* supervisor.callTool("b_y")
    })
  )

  it.scoped("a defect in the notifications ends that connection only", () =>
    Effect.gen(function* () {
      const { snapshot } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstSessions(1, (session) => ({ ...session, notifications: Stream.die("a bug") }))
      })
      yield* passed("2 seconds")
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
      assert.isAtLeast((yield* snapshot("a")).generation, 2, "it is deaf")
      assert.deepInclude(yield* snapshot("b"), { generation: 1, restarts: 0 })
    })
  )

  it.scoped("a defect while a list is fetched again ends that connection, and the next one fetches it", () =>
    Effect.gen(function* () {
      let isBad = false
      const { controls, snapshot, toolNames } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstSessions(1, (session) => ({
          ...session,
          listTools: Effect.suspend(() => (isBad ? thrower() : session.listTools))
        }))
      })
      isBad = true
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.listChanged("tools")
      assert.deepInclude(yield* snapshot("a"), { generation: 2 })
      assert.include(yield* toolNames, "a_x")
    })
  )

  it.scoped("a defect of a call reaches its caller, and the server goes on", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstSessions(1, (session) => ({ ...session, callTool: () => Effect.die(new Error("a bug")) }))
      })
      const exit = yield* Effect.exit(supervisor.callTool("a_x"))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
    })
  )

  it.scoped("a defect of a probe ends the connection", () =>
    Effect.gen(function* () {
      let probes = 0
      const { snapshot } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstSessions(1, (session) => ({
          ...session,
          probe: (timeout) => (++probes === 1 ? Effect.die("a bug") : session.probe(timeout))
        }))
      })
      yield* passed("2 minutes")
      const a = yield* snapshot("a")
      assert.strictEqual(a.status.status, "connected")
      assert.strictEqual(a.generation, 2)
    })
  )
})

describe("a fault in the loop of a server", () => {
  /** A store that throws the first times that `a` is saved. */
  const throwingStore = (times: number) => {
    let saves = 0
    return Layer.succeed(CatalogStore, {
      load: () => Effect.succeedNone,
      save: (server) => (server === "a" && ++saves <= times ? thrower() : Effect.void)
    })
  }

  it.scoped("ends its connection, is reported, and the server reconnects; others are not affected", () =>
    Effect.gen(function* () {
      const { controls, snapshot, supervisor } = yield* supervise(both, { scripts: bothOpen, store: throwingStore(1) })
      assert.deepInclude(yield* snapshot("b"), { generation: 1, restarts: 0 })
      yield* passed("3 seconds")
      const a = yield* snapshot("a")
      assert.strictEqual(a.status.status, "connected")
      assert.deepStrictEqual(yield* supervisor.callTool("a_x"), FakeConnector.text("x"))
      assert.strictEqual(yield* controls.unclosed("a"), 1)
      assert.deepInclude(yield* snapshot("b"), { generation: 1, restarts: 0 })
    })
  )

  it.scoped("is reported as a diagnostic", () =>
    Effect.gen(function* () {
      const { eventsOf } = yield* supervise(both, { scripts: bothOpen, store: throwingStore(1) })
      const told = eventsOf("Diagnostic").filter(({ diagnostic }) => diagnostic.code === "internal_fault")
      assert.deepStrictEqual(
        told.map(({ server }) => server),
        ["a"]
      )
    })
  )

  it.scoped("does not lose commands that arrive meanwhile", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise(both, { scripts: bothOpen, store: throwingStore(1) })
      const disabling = yield* Effect.fork(supervisor.disable("a"))
      yield* passed("3 seconds")
      yield* disabling
      assert.deepInclude(yield* status("a"), { status: "disabled", by: "command" })
    })
  )

  it.scoped("does not prevent its removal", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(both, { scripts: bothOpen, store: throwingStore(1000) })
      yield* passed("10 seconds")
      const removing = yield* Effect.fork(supervisor.remove("a"))
      yield* passed("10 seconds")
      yield* removing
      yield* failsWith(supervisor.server("a"), "ServerNotFound")
      assert.strictEqual(yield* controls.unclosed("a"), 0)
    })
  )

  it.scoped("does not leave a stale connection in the status", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(both, { scripts: bothOpen, store: throwingStore(1) })
      // between the fault and the reconnect there is no connection
      const { status } = yield* snapshot("a")
      assert.notStrictEqual(status.status, "connected", "it says connected while there is no connection")
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("3 seconds")
      assert.strictEqual(textOf(yield* call), "x")
    })
  )
})

describe("a fault of a handler", () => {
  it.scoped("a defect of a store while it loads changes nothing", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(CatalogStore, { load: () => Effect.die("a bug"), save: () => Effect.void })
      const { supervisor } = yield* supervise(
        { servers: { a: { ...local, lazy: true }, b: local } },
        { scripts: bothOpen, store }
      )
      yield* supervisor.callTool("b_y")
      yield* supervisor.callTool("a_x")
    })
  )

  it.scoped("a store that hangs while it loads delays for at most a second", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(CatalogStore, { load: () => Effect.never, save: () => Effect.never })
      const building = yield* Effect.fork(
        supervise({ servers: { a: { ...local, lazy: true }, b: local } }, { scripts: bothOpen, store })
      )
      yield* passed("1 second")
      const { supervisor } = yield* building
      yield* supervisor.callTool("b_y")
    })
  )

  for (const method of ["plan", "reconcile"] as const) {
    it.scoped(`a store that hangs does not hang ${method}`, () =>
      Effect.gen(function* () {
        const store = Layer.succeed(CatalogStore, { load: () => Effect.never, save: () => Effect.never })
        const { supervisor } = yield* supervise({ servers: { b: local } }, { scripts: bothOpen, store })
        // not a child of the test, because it could not be interrupted
        const asking = yield* Effect.forkDaemon(supervisor[method]({ servers: { b: local, c: local } }))
        yield* passed("2 seconds")
        assert.isTrue(yield* isOver(asking))
        assert.deepStrictEqual((yield* asking).start, ["c"])
      })
    )
  }

  it.scoped("a defect of the headers fails the attempt, not the supervisor", () =>
    Effect.gen(function* () {
      let asked = 0
      const { status } = yield* supervise(
        {
          servers: { a: { url: "https://example.com/mcp" } },
          headers: () => (++asked === 1 ? Effect.die("a bug") : Effect.succeed({}))
        },
        { scripts: { a: FakeConnector.open() } }
      )
      yield* settle
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("headers that never arrive are limited by the connect timeout", () =>
    Effect.gen(function* () {
      const { status } = yield* supervise({
        servers: { a: { url: "https://example.com/mcp", timeout: { connect: 500 }, restart: { maxRestarts: 0 } } },
        headers: () => Effect.never
      })
      yield* passed("500 millis")
      assert.deepInclude(yield* status("a"), { status: "failed", errorTag: "ConnectTimeout" })
    })
  )

  it.scoped("a crash during a fault of another server is handled as usual", () =>
    Effect.gen(function* () {
      const { controls, snapshot } = yield* supervise(both, {
        scripts: bothOpen,
        around: firstAttempts(1000, () => Effect.die("a bug"))
      })
      yield* Effect.flatMap(controls.awaitAttempt("b"), (attempt) => attempt.crash(closed("b")))
      assert.deepInclude(yield* snapshot("b"), { generation: 2, restarts: 1 })
    })
  )
})
