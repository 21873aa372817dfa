import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  closed,
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
  within
} from "./support.js"

const open = { a: FakeConnector.open({ tools: ["x"] }) }

/** Checks that two attempts of a server were never open at the same time. */
const assertNeverTwo = (lines: ReadonlyArray<string>) => {
  let there = 0
  for (const line of lines) {
    if (line.endsWith(" opening")) there += 1
    if (line.endsWith(" closed")) there -= 1
    assert.isAtMost(there, 1, lines.join("\n"))
  }
}

describe("connect and restart", () => {
  it.scoped("return the first status that is not connecting", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const connecting = yield* Effect.fork(supervisor.connect("a"))
      assert.isFalse(yield* isOver(connecting))
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open())
      assert.strictEqual((yield* connecting).status, "connected")
      const restarting = yield* Effect.fork(supervisor.restart("a"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a", 2), (attempt) => attempt.fail(notFound()))
      assert.strictEqual((yield* restarting).status, "failed")
    })
  )

  it.scoped("connect does not change a connected server", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      assert.strictEqual((yield* supervisor.connect("a")).status, "connected")
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("connect ends a wait for a retry and resets the failure streak", () =>
    Effect.gen(function* () {
      let isThere = false
      const { status, supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: () => (isThere ? FakeConnector.open() : FakeConnector.fail(refused())) } }
      )
      yield* passed("5 minutes")
      assert.strictEqual((yield* status("a")).status, "failed")
      isThere = true
      assert.strictEqual((yield* supervisor.connect("a")).status, "connected")
    })
  )

  it.scoped("restart of a connected server returns the status of the new connection", () =>
    Effect.gen(function* () {
      const { snapshot, story, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* passed("1 second")
      const status = yield* supervisor.restart("a")
      assert.deepInclude(status, { status: "connected", since: 1000 })
      assert.deepInclude(yield* snapshot("a"), { generation: 2, restarts: 0 })
      assertNeverTwo(yield* story("a#"))
    })
  )

  it.scoped("concurrent restarts end with one connection, never two at once", () =>
    Effect.gen(function* () {
      const { controls, status, story, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ latency: 10, closeTakes: 10 }) } }
      )
      yield* passed(10)
      const restarts = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.fork(supervisor.restart("a")))
      yield* passed("1 second")
      for (const restart of restarts) assert.strictEqual((yield* Effect.flatten(resultOf(restart))).status, "connected")
      assert.strictEqual((yield* status("a")).status, "connected")
      assert.strictEqual(yield* controls.unclosed(), 1)
      assertNeverTwo(yield* story("a#"))
    })
  )

  it.scoped("interrupting a caller that waits for a connection does not end the connection", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise({ servers: { a: local } })
      const connecting = yield* Effect.fork(supervisor.connect("a"))
      yield* settle
      yield* Fiber.interrupt(connecting)
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open())
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )
})

describe("disable and enable", () => {
  for (const command of ["disable", "disconnect"] as const) {
    it.scoped(`${command} closes a server and keeps it closed until a command`, () =>
      Effect.gen(function* () {
        const { controls, status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
        yield* supervisor[command]("a")
        assert.deepInclude(yield* status("a"), { status: "disabled", by: "command" })
        assert.strictEqual(yield* controls.unclosed(), 0)
        yield* passed("1 hour")
        assert.strictEqual((yield* status("a")).status, "disabled")
        yield* supervisor.enable("a")
        assert.strictEqual((yield* status("a")).status, "connected")
      })
    )
  }

  it.scoped("return after the status has changed", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* supervisor.disable("a")
      assert.strictEqual((yield* supervisor.server("a")).status.status, "disabled")
      yield* supervisor.enable("a")
      assert.notStrictEqual((yield* supervisor.server("a")).status.status, "disabled")
    })
  )

  it.scoped("disable ends an attempt", () =>
    Effect.gen(function* () {
      const { status, story, supervisor } = yield* supervise({ servers: { a: local } })
      yield* supervisor.disable("a")
      assert.strictEqual((yield* status("a")).status, "disabled")
      assert.deepStrictEqual(yield* story(), ["a#1 opening", "a#1 abandoned", "a#1 closed"])
    })
  )

  it.scoped("enable does not change an enabled server", () =>
    Effect.gen(function* () {
      const { snapshot, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* supervisor.enable("a")
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("connect connects a server that the config disables", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise(
        { servers: { a: { ...local, enabled: false } } },
        { scripts: open }
      )
      assert.deepInclude(yield* status("a"), { status: "disabled", by: "config" })
      assert.strictEqual((yield* supervisor.connect("a")).status, "connected")
    })
  )
})

describe("add and remove", () => {
  it.scoped("an added server runs, is dynamic, and comes after those of the config", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise(
        { servers: { b: local } },
        { scripts: { ...open, b: FakeConnector.open() } }
      )
      yield* supervisor.add("a", local)
      yield* settle
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, origin, status }) => [name, origin, status.status]),
        [
          ["b", "config", "connected"],
          ["a", "dynamic", "connected"]
        ]
      )
      assert.deepStrictEqual(
        eventsOf("ServerAdded").map(({ server }) => server),
        ["b", "a"]
      )
    })
  )

  it.scoped("a name that is taken and an invalid entry are errors", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* failsWith(supervisor.add("a", local), "ServerExists")
      yield* failsWith(supervisor.add("b", { command: "x", timeout: -1 }), "InvalidConfig")
      yield* failsWith(supervisor.add("b", { enabled: true }), "InvalidConfig")
      for (const name of ["", " a", "a\nb", "a\0b", "\ud800", "__proto__", "x".repeat(129)]) {
        yield* failsWith(supervisor.add(name, local), "InvalidConfig")
      }
      assert.lengthOf(yield* supervisor.servers, 1)
    })
  )

  it.scoped("an added server has the defaults of the config", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ defaults: { timeout: 1234 } }, { scripts: open })
      yield* supervisor.add("a", local)
      const { options } = yield* controls.awaitAttempt("a")
      assert.strictEqual(options.config.timeout.connect, 1234)
    })
  )

  const ways: ReadonlyArray<readonly [string, FakeConnector.Script, string]> = [
    ["connected", FakeConnector.open(), "0 millis"],
    ["connecting", FakeConnector.byHand, "0 millis"],
    ["closing slowly", FakeConnector.closing(FakeConnector.open(), "2 seconds"), "2 seconds"],
    ["never closing", FakeConnector.closing(FakeConnector.open(), "forever"), "5 seconds"],
    ["hanging and never closing", FakeConnector.closing(FakeConnector.hang, "forever"), "5 seconds"],
    ["waiting for a retry", FakeConnector.fail(refused()), "0 millis"]
  ]
  for (const [what, script, budget] of ways) {
    it.scoped(`remove of a server that is ${what} returns when nothing of it is left or its budget is used up`, () =>
      Effect.gen(function* () {
        const { eventsOf, supervisor } = yield* supervise({ servers: { a: remote } }, { scripts: { a: script } })
        const removing = yield* Effect.fork(supervisor.remove("a"))
        yield* settle
        // it is no longer listed, however long closing takes
        yield* failsWith(supervisor.server("a"), "ServerNotFound")
        assert.deepStrictEqual(yield* supervisor.servers, [])
        yield* passed(budget as "5 seconds")
        assert.isTrue(yield* isOver(removing))
        assert.lengthOf(eventsOf("ServerRemoved"), 1)
      })
    )
  }

  it.scoped("add right after remove of the same name never runs two servers at once", () =>
    Effect.gen(function* () {
      const { status, story, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.closing(FakeConnector.open({ tools: ["x"] }), "2 seconds") } }
      )
      const removing = yield* Effect.fork(supervisor.remove("a"))
      yield* settle
      yield* supervisor.add("a", { command: "another" })
      assert.strictEqual((yield* status("a")).status, "connecting")
      assert.notInclude(yield* story(), "a#2 opening")
      yield* passed("1999 millis")
      assert.isFalse(yield* isOver(removing))
      yield* passed("1 millis")
      yield* removing
      assert.strictEqual((yield* status("a")).status, "connected")
      assertNeverTwo(yield* story("a#"))
    })
  )

  it.scoped("add and remove in quick succession never run two servers at once, and the last command wins", () =>
    Effect.gen(function* () {
      const { controls, status, story, supervisor } = yield* supervise(
        {},
        { scripts: { a: FakeConnector.closing(FakeConnector.open(), "1 second") } }
      )
      for (let i = 0; i < 5; i++) {
        yield* supervisor.add("a", local)
        yield* settle
        yield* Effect.fork(supervisor.remove("a"))
        yield* settle
      }
      yield* supervisor.add("a", local)
      yield* passed("20 seconds")
      assert.strictEqual((yield* status("a")).status, "connected")
      assert.strictEqual(yield* controls.unclosed("a"), 1)
      assertNeverTwo(yield* story("a#"))
    })
  )

  it.scoped("an interrupted remove still removes the server", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.closing(FakeConnector.open(), "2 seconds") } }
      )
      const removing = yield* Effect.fork(supervisor.remove("a"))
      yield* settle
      yield* Fiber.interrupt(removing)
      yield* passed("2 seconds")
      assert.deepStrictEqual(yield* supervisor.servers, [])
      assert.strictEqual(yield* controls.unclosed(), 0)
    })
  )

  it.scoped("commands on an unknown or removed server fail with the nearest name", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { alpha: local, beta: local } }, { scripts: open })
      yield* supervisor.remove("beta")
      for (const command of ["connect", "restart", "disconnect", "enable", "disable", "remove", "server"] as const) {
        yield* failsWith(
          supervisor[command]("beta") as Effect.Effect<unknown, { readonly _tag: "ServerNotFound" }>,
          "ServerNotFound"
        )
      }
      const error = yield* failsWith(supervisor.restart("alpa"), "ServerNotFound")
      assert.strictEqual(error.nearest, "alpha")
    })
  )

  it.scoped("a caller that waits for a connection fails when the server is removed", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const connecting = yield* Effect.fork(supervisor.connect("a"))
      yield* settle
      yield* supervisor.remove("a")
      failureOf(yield* resultOf(connecting), "ServerNotFound")
    })
  )

  it.scoped("a server accepts commands while its predecessor closes, and opens after that", () =>
    Effect.gen(function* () {
      const slow = FakeConnector.closing(FakeConnector.open({ tools: ["x"] }), 2_000)
      const { count, status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: slow } })
      const removing = yield* Effect.forkDaemon(supervisor.remove("a"))
      yield* settle
      yield* supervisor.add("a", local)
      yield* within(supervisor.disable("a"), "disabled at once")
      yield* within(supervisor.enable("a"), "enabled at once")
      yield* within(supervisor.reconcile({ servers: { a: { ...local, cwd: "/tmp" } } }), "changed at once")
      yield* within(supervisor.add("other", local), "nobody else waits")
      yield* passed("1999 millis")
      assert.isFalse(yield* isOver(removing))
      assert.strictEqual(yield* count("a#2 opening"), 0)
      assert.strictEqual((yield* status("a")).status, "connecting")
      yield* passed("1 millis")
      assert.isTrue(yield* isOver(removing))
      assert.strictEqual(yield* count("a#2 opening"), 1)
      assert.strictEqual((yield* status("a")).status, "connected")
    })
  )

  it.scoped("a pending call settles when its server is removed", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* controls.awaitCall("a")
      yield* supervisor.remove("a")
      failureOf(yield* resultOf(call), "OutcomeUnknown")
    })
  )
})

describe("awaitSettled", () => {
  it.scoped("waits until no server is connecting, or only for the named servers", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local, b: local } }, { scripts: open })
      const all = yield* Effect.fork(supervisor.awaitSettled())
      const [a] = yield* supervisor.awaitSettled({ servers: ["a"] })
      assert.strictEqual(a?.name, "a")
      assert.isFalse(yield* isOver(all))
      yield* Effect.flatMap(controls.awaitAttempt("b"), (attempt) => attempt.fail(notFound("b")))
      assert.deepStrictEqual(
        (yield* all).map(({ status }) => status.status),
        ["connected", "failed"]
      )
    })
  )

  it.scoped("returns the current snapshots after its timeout", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const waiting = yield* Effect.fork(supervisor.awaitSettled({ timeout: "2 seconds" }))
      yield* passed("2 seconds")
      assert.strictEqual((yield* Effect.flatten(resultOf(waiting)))[0]?.status.status, "connecting")
    })
  )

  it.scoped("fails if a required server is not usable after the timeout", () =>
    Effect.gen(function* () {
      const required = { ...local, required: true }
      const { supervisor } = yield* supervise(
        { servers: { a: required, b: required, c: local, d: { ...required, lazy: true } } },
        { scripts: { ...open, b: FakeConnector.fail(notFound("b")), c: FakeConnector.fail(notFound("c")) } }
      )
      const error = yield* failsWith(supervisor.awaitSettled(), "RequiredServerFailed")
      assert.deepStrictEqual(
        error.servers.map(({ server, status }) => [server, status.status]),
        [["b", "failed"]]
      )
      assert.lengthOf(yield* supervisor.awaitSettled({ servers: ["a", "c", "d"] }), 3)
    })
  )

  it.scoped("also waits after a crash", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [FakeConnector.open(), FakeConnector.byHand] } }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      const waiting = yield* Effect.fork(supervisor.awaitSettled())
      assert.isFalse(yield* isOver(waiting))
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open())
      assert.strictEqual((yield* waiting)[0]?.status.status, "connected")
    })
  )
})
