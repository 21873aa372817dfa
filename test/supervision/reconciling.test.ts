import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type { CallOptions } from "../../src/supervision/model.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  failsWith,
  failureOf,
  isOver,
  local,
  notFound,
  passed,
  refused,
  remote,
  resultOf,
  settle,
  supervise,
  textOf,
  withRandom
} from "./support.js"

const open = (...tools: ReadonlyArray<string>) => FakeConnector.open({ tools })

describe("plan and reconcile", () => {
  const running = { start: local, keep: local, restart: local, update: local, stop: local }
  const { start: _, ...before } = running
  const after = {
    start: local,
    keep: { ...local },
    restart: { ...local, args: ["--new"] },
    update: { ...local, timeout: 1000, tools: { hidden: false } }
  }
  const scripts = {
    start: open("x"),
    keep: open("x"),
    restart: open("x"),
    update: open("x", "hidden"),
    stop: open("x")
  }
  const expected = {
    start: ["start"],
    stop: ["stop"],
    restart: ["restart"],
    update: ["update"],
    keep: ["keep"],
    tools: { appear: [], vanish: ["update_hidden", "stop_x"] }
  }

  it.scoped("plan returns the changes without making them", () =>
    Effect.gen(function* () {
      const { events, supervisor } = yield* supervise({ servers: before }, { scripts })
      const count = events.length
      const plan = yield* supervisor.plan({ servers: after })
      assert.deepStrictEqual(
        { ...plan, tools: { ...plan.tools, vanish: plan.tools.vanish.toSorted().toReversed() } },
        expected
      )
      yield* settle
      assert.lengthOf(events, count)
    })
  )

  it.scoped("reconcile makes the planned changes and no others", () =>
    Effect.gen(function* () {
      const { eventsOf, snapshot, supervisor, toolNames } = yield* supervise({ servers: before }, { scripts })
      const plan = yield* supervisor.plan({ servers: after })
      assert.deepStrictEqual(yield* supervisor.reconcile({ servers: after }), plan)
      yield* settle
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, generation }) => [name, generation]),
        [
          ["start", 1],
          ["keep", 1],
          ["restart", 2],
          ["update", 1]
        ]
      )
      assert.deepStrictEqual(yield* toolNames, ["start_x", "keep_x", "restart_x", "update_x"])
      assert.deepStrictEqual(
        eventsOf("ConfigApplied").map((event) => event.plan),
        [plan]
      )
      assert.strictEqual((yield* snapshot("update")).status.status, "connected")
    })
  )

  it.scoped("an equal config changes nothing", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise({ servers: before }, { scripts })
      const count = eventsOf("StatusChanged").length
      const plan = yield* supervisor.reconcile({ servers: before })
      assert.deepStrictEqual(plan.keep, Object.keys(before))
      yield* settle
      assert.lengthOf(eventsOf("StatusChanged"), count)
    })
  )

  it.scoped("an invalid config is rejected, and the last valid one stays", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: open() } })
      const wrong = { servers: {}, defaults: { timeout: -1 } }
      yield* failsWith(supervisor.plan(wrong), "InvalidConfig")
      assert.lengthOf(eventsOf("ConfigRejected"), 0)
      yield* failsWith(supervisor.reconcile(wrong), "InvalidConfig")
      yield* settle
      assert.lengthOf(eventsOf("ConfigRejected"), 1)
      assert.lengthOf(yield* supervisor.servers, 1)
    })
  )

  it.scoped("servers that were added while running stay, after those of the config", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: open(), b: open(), c: open() } }
      )
      yield* supervisor.add("b", local)
      yield* settle
      const plan = yield* supervisor.reconcile({ servers: { c: local } })
      assert.deepInclude(plan, { start: ["c"], stop: ["a"], keep: ["b"] })
      yield* settle
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, origin, generation }) => [name, origin, generation]),
        [
          ["c", "config", 1],
          ["b", "dynamic", 1]
        ]
      )
    })
  )

  it.scoped("the config replaces an added server with the same name", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, snapshot, supervisor } = yield* supervise({}, { scripts: { a: open("x") } })
      yield* supervisor.add("a", local)
      yield* settle
      const plan = yield* supervisor.reconcile({ servers: { a: { command: "another" } } })
      assert.deepStrictEqual(plan.restart, ["a"])
      assert.deepInclude(yield* snapshot("a"), { origin: "config", generation: 2 })
      const { options } = yield* controls.awaitAttempt("a")
      assert.deepInclude(options.config, { command: "another" })
      const told = eventsOf("Diagnostic").filter(({ server }) => server === "a")
      assert.deepStrictEqual(
        told.map(({ diagnostic }) => diagnostic.code),
        ["name_taken"],
        "the contract: config wins and says so"
      )
    })
  )

  it.scoped("a server that a command disabled stays disabled", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: open() } })
      yield* supervisor.disable("a")
      yield* supervisor.reconcile({ servers: { a: { command: "another" } } })
      assert.deepInclude(yield* status("a"), { status: "disabled", by: "command" })
    })
  )

  it.scoped("`enabled: false` disables a server, `true` enables it again", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: open() } })
      yield* supervisor.reconcile({ servers: { a: { ...local, enabled: false } } })
      assert.deepInclude(yield* status("a"), { status: "disabled", by: "config" })
      yield* supervisor.reconcile({ servers: { a: local } })
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("an untrusted server is never started by a command until it is trusted", () =>
    Effect.gen(function* () {
      const { status, story, supervisor } = yield* supervise({}, { scripts: { a: open() } })
      yield* supervisor.reconcile({ servers: { a: local }, untrusted: ["a"] })
      assert.deepInclude(yield* status("a"), { status: "disabled", by: "trust" })
      yield* supervisor.connect("a")
      yield* supervisor.restart("a")
      yield* supervisor.enable("a")
      assert.deepStrictEqual(yield* story(), [])
      yield* supervisor.reconcile({ servers: { a: local } })
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("an unreadable entry is a failed server, and runs once it is readable", () =>
    Effect.gen(function* () {
      const { status, story, supervisor } = yield* supervise({}, { scripts: { a: open() } })
      const error = new Errors.InvalidConfig({ server: "a", issues: [{ path: ["x"], expected: "y", found: "z" }] })
      yield* supervisor.reconcile({ servers: {}, unreadable: { a: error } })
      assert.deepInclude(yield* status("a"), { status: "failed", errorTag: "InvalidConfig" })
      yield* supervisor.connect("a")
      assert.deepStrictEqual(yield* story(), [])
      yield* supervisor.reconcile({ servers: { a: local } })
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("a running server whose entry becomes invalid is closed and failed", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: open() } })
      yield* supervisor.reconcile({ servers: { a: { command: "x", timeout: -1 } } })
      assert.deepInclude(yield* status("a"), { status: "failed", errorTag: "InvalidConfig" })
      assert.strictEqual(yield* controls.unclosed(), 0)
    })
  )

  it.scoped("concurrent reconciles run one after the other, and the last one wins", () =>
    Effect.gen(function* () {
      const names = ["a", "b", "c", "d"]
      const { supervisor } = yield* supervise({}, { scripts: Object.fromEntries(names.map((name) => [name, open()])) })
      yield* Effect.forEach(names, (name) => supervisor.reconcile({ servers: { [name]: local } }), {
        concurrency: "unbounded"
      })
      yield* settle
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, status }) => [name, status.status]),
        [["d", "connected"]]
      )
    })
  )

  it.scoped("a plan contains known tools that appear and disappear", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: local }, tools: { a_y: false } },
        { scripts: { a: open("x", "y") } }
      )
      const plan = yield* supervisor.plan({ servers: { a: local }, tools: { a_x: false } })
      assert.deepStrictEqual(plan.tools, { appear: ["a_y"], vanish: ["a_x"] })
    })
  )
})

describe("replacement", () => {
  const changed = { ...local, args: ["--new"] }
  const calling = (script: FakeConnector.Script, config: object = {}, options: CallOptions = {}) =>
    Effect.gen(function* () {
      const harness = yield* supervise({ servers: { a: { ...local, ...config } } }, { scripts: { a: script } })
      const call = yield* Effect.fork(harness.supervisor.callTool("a_x", {}, options))
      const pending = yield* harness.controls.awaitCall("a")
      return { ...harness, call, pending }
    })
  const slow = FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } })

  it.scoped("the old connection serves until the new one is open, and finishes its calls", () =>
    Effect.gen(function* () {
      const { call, controls, eventsOf, pending, snapshot, supervisor, toolNames } = yield* calling([
        slow,
        FakeConnector.byHand
      ])
      yield* supervisor.reconcile({ servers: { a: changed } })
      const during = yield* snapshot("a")
      assert.strictEqual(during.status.status, "connected")
      assert.deepStrictEqual(during.replacement, { generation: 2 })
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      const meanwhile = yield* Effect.fork(supervisor.callTool("a_x"))
      assert.strictEqual((yield* controls.awaitCall("a")).attempt, 1)
      yield* Fiber.interrupt(meanwhile)
      yield* Effect.flatMap(controls.awaitAttempt("a", 2), (attempt) => attempt.open({ tools: ["x", "y"] }))
      const after = yield* snapshot("a")
      assert.isUndefined(after.replacement)
      assert.deepStrictEqual(yield* toolNames, ["a_x", "a_y"])
      assert.strictEqual(yield* controls.unclosed(), 2)
      assert.strictEqual(textOf(yield* supervisor.callTool("a_x")), "x")
      yield* pending.answer(FakeConnector.text("old"))
      assert.strictEqual(textOf(yield* call), "old")
      yield* settle
      assert.strictEqual(yield* controls.unclosed(), 1)
      assert.isAtLeast(eventsOf("Replacement").length, 2)
    })
  )

  it.scoped("a failed one is retried by the policy while the old one serves, as the snapshot shows", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [open("x"), FakeConnector.fail(refused()), FakeConnector.fail(refused()), open("x")] } }
      )
      yield* supervisor.reconcile({ servers: { a: changed } })
      const during = yield* snapshot("a")
      assert.strictEqual(during.status.status, "connected")
      assert.deepInclude(during.replacement, { generation: 3, retryAt: 250 })
      assert.include(during.replacement?.error, "ECONNREFUSED")
      yield* supervisor.callTool("a_x")
      yield* passed("250 millis")
      assert.isUndefined((yield* snapshot("a")).replacement)
      assert.deepInclude(yield* snapshot("a"), { generation: 4 })
    }).pipe(withRandom(0.5))
  )

  it.scoped("the old one keeps serving if the new one fails permanently", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [open("x"), FakeConnector.fail(notFound())] } }
      )
      yield* supervisor.reconcile({ servers: { a: changed } })
      yield* passed("1 hour")
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
      yield* supervisor.callTool("a_x")
    })
  )

  it.scoped("a call that does not end is closed when the drain time is over", () =>
    Effect.gen(function* () {
      const endless = { idleTimeout: "1 hour", totalTimeout: "1 hour" } as const
      const { call, controls, supervisor } = yield* calling(
        [slow, open("x")],
        { timeout: { total: "1 minute" } },
        endless
      )
      yield* supervisor.reconcile({ servers: { a: { ...changed, timeout: { total: "1 minute" } } } })
      yield* passed("59 seconds")
      assert.strictEqual(yield* controls.unclosed(), 2)
      yield* passed("1 second")
      assert.strictEqual(yield* controls.unclosed(), 1)
      assert.isTrue(yield* isOver(call))
    })
  )

  it.scoped("with stop-first, the old one finishes its calls before the new one starts, and calls wait", () =>
    Effect.gen(function* () {
      const { call, controls, pending, story, supervisor } = yield* calling([slow, open("x")], {
        replace: "stop-first"
      })
      yield* supervisor.reconcile({ servers: { a: { ...changed, replace: "stop-first" } } })
      yield* settle
      assert.notInclude(yield* story(), "a#2 opening")
      const waiting = yield* Effect.fork(supervisor.callTool("a_x"))
      assert.isFalse(yield* isOver(waiting))
      yield* pending.answer(FakeConnector.text("old"))
      assert.strictEqual(textOf(yield* call), "old")
      assert.strictEqual(textOf(yield* Effect.flatten(resultOf(waiting))), "x")
      assert.strictEqual(yield* controls.unclosed(), 1)
      const order = (yield* story()).filter((line) => / (opening|closed)$/.test(line))
      assert.deepStrictEqual(order, ["a#1 opening", "a#1 closed", "a#2 opening"])
    })
  )

  it.scoped("a changed address or identity never falls back to the old one", () =>
    Effect.gen(function* () {
      const { status, supervisor, toolNames } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [open("x"), FakeConnector.fail(new Errors.HttpFailed({ server: "a", status: 404 }))] } }
      )
      yield* supervisor.reconcile({ servers: { a: { ...remote, headers: { authorization: "another" } } } })
      assert.strictEqual((yield* status("a")).status, "failed")
      assert.deepStrictEqual(yield* toolNames, [])
      failureOf(yield* Effect.exit(supervisor.callServerTool("a", "x")), "ServerUnavailable")
    })
  )

  it.scoped("new settings apply to the next call without a new connection", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: slow } })
      yield* supervisor.reconcile({ servers: { a: { ...local, timeout: { call: "2 seconds" } } } })
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("2 seconds")
      failureOf(yield* resultOf(call), "CallTimeout")
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("new roots are sent to the running server", () =>
    Effect.gen(function* () {
      const { controls, snapshot, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: open() } })
      yield* supervisor.reconcile({ servers: { a: { ...local, roots: ["/new"] } } })
      yield* settle
      const attempt = yield* controls.awaitAttempt("a")
      assert.deepStrictEqual(yield* attempt.roots, [{ uri: "file:///new" }])
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )
})

describe("problems of a config", () => {
  it.scoped("are published when they appear or disappear for an equal entry", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open() } }
      )
      const codes = Effect.map(snapshot("a"), ({ diagnostics }) => diagnostics.map(({ message }) => message))
      assert.deepStrictEqual(yield* codes, [])
      yield* supervisor.reconcile({ servers: { a: { ...local, tiemout: 5 } as never } })
      assert.include((yield* codes).join(), "tiemout")
      yield* supervisor.reconcile({ servers: { a: local } })
      assert.deepStrictEqual(yield* codes, [])
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("are published for settings that apply to all servers", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise({ defaults: { tiemout: 5 } as never })
      yield* settle
      assert.include(eventsOf("Diagnostic")[0]?.diagnostic.message, "tiemout")
      yield* supervisor.reconcile({ defaults: { tiemout: 5 } as never })
      yield* settle
      assert.lengthOf(eventsOf("Diagnostic"), 1)
    })
  )

  const nonsense: ReadonlyArray<unknown> = [
    4,
    [],
    null,
    "x",
    new Map(),
    new Proxy({}, { ownKeys: () => assert.fail("canary") })
  ]
  it.scoped("are an error if the value is no config, which stops no server", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open() } }
      )
      for (const desired of nonsense) {
        const error = yield* failsWith(supervisor.reconcile(desired as never), "InvalidConfig")
        assert.notInclude(error.message, "canary")
      }
      const plan = yield* supervisor.reconcile({ servers: { a: local }, unreadable: { b: 5 } } as never)
      assert.deepStrictEqual(plan.start, ["b"])
      assert.deepInclude((yield* snapshot("b")).status, { status: "failed", errorTag: "InvalidConfig" })
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )
})

describe("an entry that is not approved", () => {
  it.scoped("does not take the name of a server that was added while running", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise({}, { scripts: { a: FakeConnector.open() } })
      yield* supervisor.add("a", local)
      yield* settle
      const plan = yield* supervisor.reconcile({ servers: { a: { command: "evil" } }, untrusted: ["a"] })
      assert.deepStrictEqual(plan.keep, ["a"])
      assert.deepInclude(yield* snapshot("a"), { origin: "dynamic", generation: 1 })
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
    })
  )
})
