import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Metric, MetricState, Option, Stream, Tracer } from "effect"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  closed,
  failsWith,
  local,
  notFound,
  passed,
  recordLogs,
  recordSpans,
  resultOf,
  settle,
  supervise,
  superviseUnsettled
} from "./support.js"

const open = { a: FakeConnector.open({ tools: ["x"] }) }

describe("events", () => {
  it.scoped("are numbered from 1 without gaps and have their time", () =>
    Effect.gen(function* () {
      const { controls, events, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* passed("1 second")
      yield* supervisor.callTool("a_x")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      yield* supervisor.remove("a")
      yield* settle
      assert.isAbove(events.length, 5)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1)
      )
      assert.deepInclude(
        events.find(({ type }) => type === "ServerRemoved"),
        { server: "a", at: 1000 }
      )
    })
  )

  it.scoped("`events` streams new events, `eventsFrom` those from a number on", () =>
    Effect.gen(function* () {
      const { events, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      const live = yield* Effect.fork(Stream.runHead(supervisor.events))
      yield* settle
      const last = events.length
      const replay = yield* Effect.fork(Stream.runCollect(Stream.take(supervisor.eventsFrom(2), last)))
      yield* supervisor.callTool("a_x")
      const first = Option.getOrThrow(yield* Effect.flatten(resultOf(live)))
      assert.deepInclude(first, { seq: last + 1, type: "CallSettled", tool: "x", outcome: "ok" })
      const replayed = Chunk.toReadonlyArray(yield* Effect.flatten(resultOf(replay)))
      assert.deepStrictEqual(
        replayed.map(({ seq }) => seq),
        Array.from({ length: last }, (_, index) => index + 2)
      )
    })
  )

  it.scoped("a slow reader receives the numbers of the events it missed", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      yield* Effect.repeatN(Effect.ignore(supervisor.callServerTool("a", "x")), 10_050)
      const [skipped, next] = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(supervisor.eventsFrom(1), 2)))
      assert.strictEqual(skipped?.type, "Skipped")
      assert.strictEqual(skipped?.type === "Skipped" ? skipped.to + 1 : 0, next?.seq)
    })
  )

  it.scoped("CallSettled contains the result and duration of each call", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: {
            a: FakeConnector.open({
              tools: ["ok", "bad", "slow"],
              calls: { ok: FakeConnector.text("ok"), bad: FakeConnector.errorText("no"), slow: Effect.never }
            })
          }
        }
      )
      yield* supervisor.callTool("a_ok")
      yield* supervisor.callTool("a_bad")
      const slow = yield* Effect.fork(supervisor.callTool("a_slow"))
      const pending = yield* controls.awaitCall("a", "slow")
      yield* passed("3 seconds")
      yield* pending.answer(FakeConnector.text("done"))
      yield* slow
      const gone = yield* Effect.fork(supervisor.callTool("a_slow"))
      yield* settle
      yield* Fiber.interrupt(gone)
      yield* settle
      assert.deepStrictEqual(
        eventsOf("CallSettled").map(({ ms, outcome, tool }) => [tool, outcome, ms]),
        [
          ["ok", "ok", 0],
          ["bad", "error", 0],
          ["slow", "ok", 3000],
          ["slow", "interrupted", 0]
        ]
      )
    })
  )

  it.scoped("a diagnostic is published once while it holds", () =>
    Effect.gen(function* () {
      const config = { ...local, tools: { nothing: true } }
      const { eventsOf, snapshot, supervisor } = yield* supervise({ servers: { a: config } }, { scripts: open })
      yield* supervisor.callTool("a_x")
      yield* supervisor.restart("a")
      assert.lengthOf((yield* snapshot("a")).diagnostics, 1)
      assert.lengthOf(eventsOf("Diagnostic"), 1)
    })
  )
})

describe("changes", () => {
  it.scoped("stream the current value, then the newest, and nothing without a change", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      const seen: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(supervisor.changes, ([a]) => Effect.sync(() => seen.push(a?.status.status ?? "nothing")))
      )
      yield* settle
      yield* supervisor.callTool("a_x")
      yield* settle
      assert.deepStrictEqual(seen, ["connected"])
      yield* supervisor.disable("a")
      yield* settle
      yield* supervisor.remove("a")
      yield* settle
      assert.deepStrictEqual(seen, ["connected", "disabled", "nothing"])
    })
  )

  it.scoped("give a slow reader only the newest value", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      const seen: Array<string> = []
      const reader = Stream.runForEach(supervisor.changes, ([a]) =>
        Effect.zipRight(
          Effect.sync(() => seen.push(a!.status.status)),
          Effect.sleep("1 minute")
        )
      )
      yield* Effect.forkScoped(reader)
      yield* settle
      for (let i = 0; i < 10; i++) {
        yield* supervisor.restart("a")
        yield* supervisor.disable("a")
      }
      yield* passed("10 minutes")
      assert.deepStrictEqual(seen, ["connected", "disabled"])
    })
  )
})

describe("spans", () => {
  it.scoped("each method has a span with server and tool, and a call also one for each attempt", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recordSpans()
      yield* Effect.gen(function* () {
        const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
        yield* supervisor.callTool("a_x")
        yield* supervisor.callServerTool("a", "x")
        yield* supervisor.restart("a")
        yield* supervisor.callTool("a_x")
        yield* failsWith(supervisor.readResource("a", "file:///y"), "ProtocolError")
      }).pipe(Effect.withTracer(tracer))
      const told = spans
        .filter(({ name }) => name.startsWith("McpSupervisor."))
        .map(({ attributes, name }) => [name, Object.fromEntries(attributes)])
      assert.deepStrictEqual(told, [
        ["McpSupervisor.callTool", { "mcp.tool": "a_x", "mcp.server": "a", "mcp.attempt": 1 }],
        ["McpSupervisor.callServerTool", { "mcp.tool": "x", "mcp.server": "a", "mcp.attempt": 1 }],
        ["McpSupervisor.restart", { "mcp.server": "a" }],
        ["McpSupervisor.callTool", { "mcp.tool": "a_x", "mcp.server": "a", "mcp.attempt": 2 }],
        ["McpSupervisor.readResource", { "mcp.server": "a" }]
      ])
      const attempts = spans.filter(({ name }) => name === "ServerActor.connect")
      assert.deepStrictEqual(
        attempts.map(({ attributes }) => Object.fromEntries(attributes)),
        [
          { "mcp.server": "a", "mcp.attempt": 1 },
          { "mcp.server": "a", "mcp.attempt": 2 }
        ]
      )
    })
  )

  it.scoped("the work of servers has neither the span nor the log annotations of a caller", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recordSpans()
      const { layer, logs } = recordLogs()
      yield* Effect.gen(function* () {
        const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
        const asking = Effect.gen(function* () {
          yield* supervisor.restart("a")
          yield* supervisor.add("b", local)
          yield* supervisor.reconcile({ servers: { a: local, c: local } })
          yield* supervisor.disable("a")
        })
        yield* asking.pipe(Effect.annotateLogs("who", "asks"), Effect.withSpan("asking"))
        yield* settle
      }).pipe(Effect.withTracer(tracer), Effect.provide(layer))
      const attempts = spans.filter(({ name }) => name === "ServerActor.connect")
      assert.isAtLeast(attempts.length, 4)
      for (const { parent } of attempts) assert.isTrue(Option.isNone(parent))
      for (const { annotations } of logs) assert.notProperty(annotations, "who")
      assert.isTrue(logs.some(({ message }) => message === "mcp.server.disabled"))
    })
  )

  it.scoped("servers add nothing to the ended span in which the layer was built", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recordSpans()
      yield* Effect.gen(function* () {
        const { supervisor } = yield* Effect.withSpan(
          supervise({ servers: { a: local } }, { scripts: open }),
          "building"
        )
        yield* supervisor.restart("a")
        yield* settle
      }).pipe(Effect.withTracer(tracer))
      const building = spans.find(({ name }) => name === "building")
      assert.deepStrictEqual(building?.late, [])
    })
  )

  it.scoped("a call sends its span to the server", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recordSpans()
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      yield* Effect.forkScoped(Effect.withTracer(supervisor.callTool("a_x"), tracer))
      const { meta } = yield* controls.awaitCall("a")
      const span = spans.find(({ name }) => name === "McpSupervisor.callTool")
      assert.deepStrictEqual(meta, { traceparent: `00-${span?.traceId}-${span?.spanId}-01` })
    })
  )

  it.scoped("without a tracer, a call sends the caller's span if there is one", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x", "y"], calls: { x: Effect.never, y: Effect.never } }) } }
      )
      yield* Effect.forkScoped(supervisor.callTool("a_x"))
      assert.isUndefined((yield* controls.awaitCall("a", "x")).meta)
      const parent = Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" })
      yield* Effect.forkScoped(Effect.withParentSpan(supervisor.callTool("a_y"), parent))
      const { meta } = yield* controls.awaitCall("a", "y")
      assert.include(String(meta?.traceparent), parent.traceId)
    })
  )
})

describe("logs of the supervisor", () => {
  it.scoped("have constant messages, with variable parts as annotations", () =>
    Effect.gen(function* () {
      const { layer, logs } = recordLogs()
      yield* Effect.gen(function* () {
        const { close, controls, supervisor } = yield* supervise(
          { servers: { a: local, b: local, c: { ...local, lazy: true } } },
          { scripts: { ...open, b: FakeConnector.fail(notFound("b")), c: FakeConnector.open() } }
        )
        yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
        yield* settle
        yield* supervisor.disable("a")
        yield* close
      }).pipe(Effect.provide(layer))
      assert.isAtLeast(logs.length, 5)
      for (const { annotations, message } of logs) {
        assert.match(message, /^mcp\.[a-z]+\.[a-z_]+$/)
        assert.property(annotations, "mcp.server")
      }
      const failed = logs.find(({ message }) => message === "mcp.server.failed")
      assert.deepInclude(failed?.annotations, { "mcp.server": "b", errorTag: "SpawnFailed" })
      assert.strictEqual(failed?.level, "WARN")
    })
  )
})

describe("metrics", () => {
  /** The value of a metric with this tag: a counter or a gauge. */
  const metric = (name: string, tag: string, value: string) =>
    Effect.map(Metric.snapshot, (pairs) => {
      const states = pairs
        .filter(
          ({ metricKey }) =>
            metricKey.name === name && metricKey.tags.some((label) => label.key === tag && label.value === value)
        )
        .map(({ metricState }): number => {
          if (MetricState.isCounterState(metricState)) return Number(metricState.count)
          if (MetricState.isGaugeState(metricState)) return Number(metricState.value)
          if (MetricState.isHistogramState(metricState)) return metricState.count
          return Number.NaN
        })
      return states.reduce((sum, each) => sum + each, 0)
    })

  it.scoped("count restarts, refreshes, calls and waiting calls", () =>
    Effect.gen(function* () {
      const name = "counted"
      const of = (metricName: string) => metric(metricName, "mcp.server", name)
      const { controls, supervisor } = yield* supervise(
        { servers: { [name]: { ...local, concurrency: 1 } } },
        { scripts: { [name]: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      const calls = yield* Effect.forEach([1, 2, 3], () => Effect.fork(supervisor.callTool(`${name}_x`)))
      yield* settle
      assert.strictEqual(yield* of("mcp_calls_in_flight"), 1)
      assert.strictEqual(yield* of("mcp_calls_queued"), 2, "those that wait are not counted while they wait")
      for (const call of calls) yield* Fiber.interrupt(call)
      assert.strictEqual(yield* of("mcp_calls_in_flight"), 0)
      assert.strictEqual(yield* of("mcp_calls_queued"), 0)
      assert.strictEqual(yield* of("mcp_call_duration_ms"), 3)
      const attempt = yield* controls.awaitAttempt(name)
      yield* attempt.listChanged("tools")
      yield* settle
      assert.strictEqual(yield* of("mcp_catalog_refreshes_total"), 1)
      yield* attempt.crash(closed(name))
      yield* settle
      assert.strictEqual(yield* of("mcp_restarts_total"), 1)
    })
  )

  it.scoped("count servers by status, without removed ones", () =>
    Effect.gen(function* () {
      const connected = metric("mcp_connections", "status", "connected")
      const disabled = metric("mcp_connections", "status", "disabled")
      const [before, off] = yield* Effect.all([connected, disabled])
      const { close, supervisor } = yield* supervise(
        { servers: { a: local, b: local } },
        { scripts: { ...open, b: FakeConnector.open() } }
      )
      assert.strictEqual(yield* connected, before + 2)
      yield* supervisor.disable("a")
      assert.deepStrictEqual(yield* Effect.all([connected, disabled]), [before + 1, off + 1])
      yield* supervisor.remove("b")
      yield* settle
      assert.deepStrictEqual(yield* Effect.all([connected, disabled]), [before, off + 1])
      yield* close
      assert.deepStrictEqual(yield* Effect.all([connected, disabled]), [before, off])
    })
  )

  it.scoped("count a server whose status changes during the shutdown correctly, and none after it", () =>
    Effect.gen(function* () {
      const statuses = ["connected", "connecting", "failed", "needs_auth"]
      const counts = Effect.all(statuses.map((status) => metric("mcp_connections", "status", status)))
      const before = yield* counts
      for (let moment = 0; moment < 40; moment++) {
        const { close, controls } = yield* superviseUnsettled({ servers: { a: local } }, { scripts: open })
        const attempt = yield* controls.awaitAttempt("a")
        yield* settle
        yield* attempt.crash(closed())
        yield* Effect.repeatN(Effect.yieldNow(), moment)
        yield* close
        assert.deepStrictEqual(yield* counts, before, `after ${moment} turns`)
      }
    })
  )
})
