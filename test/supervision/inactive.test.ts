import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Layer, Metric, Stream } from "effect"
import { Connector } from "../../src/connection/Connector.js"
import { type Desired, McpSupervisor } from "../../src/supervision/model.js"
import * as Supervisor from "../../src/supervision/Supervisor.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { heldBytes } from "../live/support/memory.js"
import { failsWith, local, passed, refused, remote, resultOf, settle, supervise } from "./support.js"

const off = { ...local, enabled: false }
const open = { a: FakeConnector.open({ tools: ["x"] }) }

/** Servers in the form that config files produce. */
const desiredOf = (servers: NonNullable<Desired["servers"]>, untrusted: ReadonlyArray<string>): Desired => ({
  servers,
  untrusted
})

/** The number of disabled servers in the metrics of the whole process. */
const countedDisabled = Effect.map(Metric.snapshot, (pairs) => {
  const found = pairs.find(
    ({ metricKey }) => metricKey.name === "mcp_connections" && metricKey.tags.some(({ value }) => value === "disabled")
  )
  return (found?.metricState as { readonly value?: number } | undefined)?.value ?? 0
})

describe("a server that is disabled or not trusted", () => {
  it.live("uses at most 2 kB, however many there are", () =>
    Effect.gen(function* () {
      const count = 4000
      const entries = (prefix: string) =>
        Object.fromEntries(
          Array.from({ length: count }, (_, index) => [`${prefix}${index}`, { ...off, args: [`${index}`] }])
        )
      const { connector } = yield* FakeConnector.make({})
      const build = (servers: ReturnType<typeof entries>) =>
        Layer.build(
          Layer.provide(
            Supervisor.layer(desiredOf(servers, Object.keys(servers).slice(0, count / 2))),
            Layer.succeed(Connector, connector)
          )
        )
      // objects that are created once, by the first use
      yield* Effect.scoped(build(entries("warm")))
      const servers = entries("s")
      const before = heldBytes()
      const context = yield* build(servers)
      const each = (heldBytes() - before) / count
      assert.isBelow(each, 2048)
      const shown = yield* Effect.flatMap(McpSupervisor, ({ servers }) => servers).pipe(Effect.provide(context))
      assert.deepStrictEqual(
        [shown.length, shown[0]?.status, shown.at(-1)?.status.status],
        [
          count,
          { status: "disabled", by: "trust", hint: "its project file is not trusted: mcp-supervisor trust" },
          "disabled"
        ]
      )
    }).pipe(Effect.scoped)
  )

  for (const command of ["connect", "enable", "restart"] as const) {
    it.scoped(`is started by ${command}, with the usual events`, () =>
      Effect.gen(function* () {
        const { snapshot, statuses, supervisor, toolNames } = yield* supervise(
          { servers: { a: off } },
          { scripts: open }
        )
        yield* supervisor[command]("a")
        assert.deepInclude(yield* snapshot("a"), { generation: 1, tools: 1 })
        assert.deepStrictEqual(statuses("a"), ["connecting", "connected"])
        assert.deepStrictEqual(yield* toolNames, ["a_x"])
      })
    )
  }

  it.scoped("is started once by concurrent commands, also if its cached listing is loaded first", () =>
    Effect.gen(function* () {
      const { count, supervisor } = yield* supervise({ servers: { a: { ...off, lazy: true } } }, { scripts: open })
      yield* Effect.all([supervisor.connect("a"), supervisor.connect("a"), supervisor.callTool("a_x")], {
        concurrency: "unbounded"
      }).pipe(Effect.ignore)
      assert.strictEqual((yield* supervisor.server("a")).generation, 1)
      assert.strictEqual(yield* count("a#1 opening"), 1)
    })
  )

  it.scoped("is not started by a command if it is not trusted; a disable command is remembered", () =>
    Effect.gen(function* () {
      const untrusted = { servers: { a: local }, untrusted: ["a"] }
      const { story, supervisor } = yield* supervise(untrusted, { scripts: open })
      assert.deepInclude(yield* supervisor.connect("a"), { status: "disabled", by: "trust" })
      yield* supervisor.disable("a")
      assert.deepInclude((yield* supervisor.server("a")).status, { by: "trust" })
      yield* supervisor.reconcile({ servers: { a: local } })
      yield* settle
      assert.deepInclude((yield* supervisor.server("a")).status, { status: "disabled", by: "command" })
      assert.deepStrictEqual(yield* story(), [])
    })
  )

  it.scoped("starts when the config enables it or it is trusted; the status of an inactive one says why", () =>
    Effect.gen(function* () {
      const { eventsOf, statuses, supervisor } = yield* supervise(desiredOf({ a: off, b: remote, c: off }, ["b"]), {
        scripts: { ...open, b: FakeConnector.open() }
      })
      const plan = yield* supervisor.reconcile({ servers: { a: local, b: remote, c: local }, untrusted: ["c"] })
      yield* settle
      assert.sameMembers([...plan.restart, ...plan.update], ["a", "b", "c"])
      assert.deepStrictEqual(statuses("a"), ["connecting", "connected"])
      assert.deepStrictEqual(statuses("b"), ["connecting", "connected"])
      const told = eventsOf("StatusChanged").filter(({ server }) => server === "c")
      assert.deepStrictEqual(
        told.map(({ from, to }) => [from, to].map((status) => status.status === "disabled" && status.by)),
        [["config", "trust"]]
      )
    })
  )

  it.scoped("answers calls, logs and subscriptions like one that was disabled by a command", () =>
    Effect.gen(function* () {
      const { events, supervisor } = yield* supervise({ servers: { a: off } }, { scripts: open })
      const error = yield* failsWith(supervisor.callTool("a_x"), "ServerUnavailable")
      assert.deepInclude(error.status, { status: "disabled", by: "config" })
      yield* failsWith(supervisor.callServerTool("a", "x"), "ServerUnavailable")
      yield* failsWith(supervisor.readResource("a", "file:///x"), "ServerUnavailable")
      yield* failsWith(Stream.runDrain(supervisor.subscribeResource("a", "file:///x")), "ServerUnavailable")
      const logs = yield* Effect.fork(Stream.runCollect(supervisor.logs("a")))
      yield* settle
      assert.strictEqual(events.filter(({ type }) => type === "CallSettled").length, 2)
      yield* supervisor.remove("a")
      assert.deepStrictEqual(Chunk.size(yield* Effect.flatten(resultOf(logs))), 0)
    })
  )

  it.scoped("can be removed and added again, and is counted while it exists", () =>
    Effect.gen(function* () {
      const before = yield* countedDisabled
      const { close, eventsOf, supervisor } = yield* supervise({ servers: { a: off, b: off } }, { scripts: open })
      assert.strictEqual((yield* countedDisabled) - before, 2)
      yield* supervisor.remove("a")
      assert.strictEqual((yield* countedDisabled) - before, 1)
      yield* failsWith(supervisor.connect("a"), "ServerNotFound")
      yield* failsWith(supervisor.add("b", off), "ServerExists")
      yield* supervisor.add("a", off)
      assert.deepStrictEqual(
        (yield* supervisor.servers).map(({ name, origin }) => [name, origin]),
        [
          ["b", "config"],
          ["a", "dynamic"]
        ]
      )
      yield* supervisor.connect("a")
      assert.strictEqual((yield* countedDisabled) - before, 1)
      yield* settle
      assert.deepStrictEqual(
        eventsOf("ServerRemoved").map(({ server }) => server),
        ["a"]
      )
      yield* close
      assert.strictEqual(yield* countedDisabled, before)
    })
  )

  it.scoped("is removed if a config removes it while a command starts it", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: off, b: local } })
      yield* Effect.all([supervisor.reconcile({ servers: {} }), Effect.ignore(supervisor.enable("a"))], {
        concurrency: "unbounded"
      })
      yield* passed("20 seconds")
      assert.deepStrictEqual(yield* supervisor.servers, [])
      const journal = yield* controls.journal
      const lines = journal.map(FakeConnector.render)
      const count = (ending: string) => lines.filter((line) => line.endsWith(ending)).length
      assert.strictEqual(count(" opening"), count(" closed"), lines.join("\n"))
    })
  )
})

describe("awaitSettled", () => {
  it.scoped("waits for each server once, not until all are settled at the same time", () =>
    Effect.gen(function* () {
      const { controls, status, supervisor } = yield* supervise(
        { servers: { a: remote, b: remote } },
        { scripts: { a: [FakeConnector.fail(refused()), FakeConnector.byHand, FakeConnector.byHand] } }
      )
      const waiting = yield* Effect.fork(supervisor.awaitSettled())
      yield* settle
      // the first failure is retried at once: only the second one settles the server
      yield* Effect.flatMap(controls.awaitAttempt("a", 2), (attempt) => attempt.fail(refused()))
      yield* passed("2 seconds")
      // the retry hangs
      assert.strictEqual((yield* status("a")).status, "connecting")
      yield* Effect.flatMap(controls.awaitAttempt("b"), (attempt) => attempt.open())
      assert.deepStrictEqual(
        (yield* Effect.flatten(resultOf(waiting))).map(({ name, status }) => [name, status.status]),
        [
          ["a", "failed"],
          ["b", "connected"]
        ]
      )
    })
  )

  it.scoped("does not wait for a server that is removed", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const waiting = yield* Effect.fork(supervisor.awaitSettled())
      yield* settle
      yield* Effect.fork(supervisor.remove("a"))
      assert.deepStrictEqual(yield* Effect.flatten(resultOf(waiting)), [])
    })
  )
})
