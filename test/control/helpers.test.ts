import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Either, Metric, MetricBoundaries, Schema, Stream } from "effect"
import * as ControlError from "../../src/control/ControlError.js"
import { positionIn } from "../../src/control/server/EventFeed.js"
import { render } from "../../src/control/server/metricsText.js"
import { match, routes } from "../../src/control/server/routes.js"
import { choose } from "../../src/daemon/socketPath.js"
import * as Sse from "../../src/control/sse.js"
import * as Errors from "../../src/domain/Errors.js"

describe("encoded errors", () => {
  const issue = { path: ["a", 0], expected: "a string", found: "a number" } as const
  const status = { status: "idle", since: 1 } as const
  const server = "one"
  const errors: ReadonlyArray<Errors.CallError> = [
    new Errors.ToolNotFound({ tool: "x", nearest: "y" }),
    new Errors.ServerNotFound({ server }),
    new Errors.ServerUnavailable({ server, status }),
    new Errors.InvalidArguments({ server, subject: "x", issues: [issue] }),
    new Errors.NotSent({ server, reason: "gone" }),
    new Errors.OutcomeUnknown({ server, cause: new Errors.SessionLost({ server }) }),
    new Errors.CallTimeout({ server, which: "idle", sent: true, after: 5 }),
    new Errors.AuthRequired({ server, reason: "401", login: true }),
    new Errors.RateLimited({ server, retryAfter: 5 }),
    new Errors.Overloaded({ server, queued: 5 }),
    new Errors.InvalidResult({ server, issues: [issue] }),
    new Errors.ProtocolError({ server, code: -32602, message: "no such thing", data: { a: [1] } }),
    new Errors.SupervisorClosed()
  ]

  it("have a tag and a message besides their fields, and decode to equal errors", () => {
    const schema = Schema.Union(...ControlError.callErrors)
    for (const error of errors) {
      const wire = JSON.parse(JSON.stringify(Schema.encodeSync(schema)(error)))
      assert.deepStrictEqual(Object.keys(wire), ["error"])
      assert.strictEqual(wire.error.tag, error._tag)
      assert.strictEqual(wire.error.message, error.message)
      assert.notProperty(wire.error, "_tag")
      const back = Schema.decodeUnknownSync(schema)(wire)
      assert.deepStrictEqual(back, error)
      assert.strictEqual(back.message, error.message)
    }
  })
})

describe("routes", () => {
  const outcome = (method: string, url: string) =>
    Either.match(match(method, url), {
      onLeft: (refusal) => (refusal._tag === "MethodNotAllowed" ? refusal.allow.join(",") : refusal._tag),
      onRight: ({ path }) => path
    })

  it("are matched by method and path", () => {
    assert.strictEqual(outcome("GET", "/mcp?x=1"), "/mcp")
    assert.strictEqual(outcome("POST", "/mcp/a%2Fb/connect"), "/mcp/:name/connect")
    assert.strictEqual(outcome("GET", "/resources/templates"), "/resources/templates")
    assert.strictEqual(outcome("POST", "/mcp/connect/connect"), "/mcp/:name/connect")
  })

  it("report the allowed methods of a path, and unknown paths", () => {
    assert.strictEqual(outcome("PUT", "/mcp"), "GET,POST")
    assert.strictEqual(outcome("HEAD", "/health"), "GET")
    assert.strictEqual(outcome("GET", "/mcp/one/auth"), "POST,DELETE")
    for (const url of ["/", "", "*", "/mcp/", "/mcp//connect", "/MCP", "/mcp/a/b/connect", "http://x/mcp", "/mcp/.."]) {
      const expected = url === "/mcp/.." ? "DELETE" : "RouteNotFound"
      assert.strictEqual(outcome("GET", url), expected, url)
    }
    assert.strictEqual(outcome("GET", "/servers/%zz"), "BadRequest")
  })

  it("contain each combination of path and method once", () => {
    const names = routes.map(({ method, path }) => `${method} ${path}`)
    assert.strictEqual(new Set(names).size, names.length)
  })
})

describe("server-sent events", () => {
  it.effect("decode to what was encoded, at every chunk size", () =>
    Effect.gen(function* () {
      const messages = [
        { id: "ab-1", data: JSON.stringify({ text: "line\nline ä€😀" }) },
        { id: "ab-2", event: "skipped", data: "{}" },
        { data: "[]" }
      ]
      const text = Sse.comment("hello") + messages.map(Sse.render).join(Sse.comment("alive"))
      const bytes = new TextEncoder().encode(text)
      for (const size of [1, 2, 7, 1000]) {
        const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.slice(index * size, (index + 1) * size)
        )
        const found = yield* Stream.runCollect(Sse.parse(Stream.fromIterable(cuts)))
        const plain = Chunk.toReadonlyArray(found).map(({ data, event, id }) => ({ data, event, id }))
        assert.deepStrictEqual(
          plain,
          messages.map(({ data, event, id }: Sse.SseMessage) => ({ data, event, id }))
        )
      }
    })
  )

  it("have ids that are valid in one run only", () => {
    assert.strictEqual(positionIn("ab12-7", "ab12", 7), 7)
    assert.isUndefined(positionIn("ab12-8", "ab12", 7))
    for (const id of ["ab13-7", "ab12", "ab12-", "ab12--7", "7", "", "ab12-7-7", "ab12-9999999999999999"]) {
      assert.isUndefined(positionIn(id, "ab12", 99), id)
    }
  })
})

describe("metrics as text", () => {
  it.effect("have one family per name, and label values cannot break a line", () =>
    Effect.gen(function* () {
      const counter = Metric.counter("test.calls", { incremental: true, description: "back\\slash\nand line" })
      yield* Metric.update(Metric.tagged(counter, "mcp.server", 'a"b\\c\nd'), 3)
      yield* Metric.update(Metric.tagged(counter, "mcp.server", "e"), 4)
      yield* Metric.update(Metric.histogram("test_ms", MetricBoundaries.fromIterable([1, 2])), 1.5)
      yield* Metric.update(Metric.counter("test_up_and_down"), -1)
      yield* Metric.update(Metric.frequency("test_words"), "some word")
      yield* Metric.update(
        Metric.summary({ name: "test_sizes", maxAge: "1 minute", maxSize: 9, error: 0.1, quantiles: [0.5] }),
        7
      )
      const text = render(yield* Metric.snapshot)
      const lines = text.split("\n").filter((line) => line.includes("test_"))
      assert.deepStrictEqual(lines, [
        "# HELP test_calls back\\\\slash\\nand line",
        "# TYPE test_calls counter",
        'test_calls{mcp_server="a\\"b\\\\c\\nd"} 3',
        'test_calls{mcp_server="e"} 4',
        "# HELP test_ms ",
        "# TYPE test_ms histogram",
        'test_ms_bucket{le="1"} 0',
        'test_ms_bucket{le="2"} 1',
        'test_ms_bucket{le="+Inf"} 1',
        "test_ms_sum 1.5",
        "test_ms_count 1",
        "# HELP test_sizes ",
        "# TYPE test_sizes summary",
        'test_sizes{quantile="0.5"} 7',
        "test_sizes_sum 7",
        "test_sizes_count 1",
        "# HELP test_up_and_down ",
        "# TYPE test_up_and_down gauge",
        "test_up_and_down -1",
        "# HELP test_words ",
        "# TYPE test_words counter",
        'test_words{key="some word"} 1'
      ])
      for (const line of text.split("\n")) {
        assert.match(line, /^$|^# (HELP|TYPE) \S+ .*$|^[a-z_]+(\{.*\})? (NaN|[+-]?(Inf|[\d.e+-]+))$/)
      }
    })
  )
})

describe("the path of the Unix socket", () => {
  const system = { platform: "linux", runtimeDir: "/run/user/7", temporary: "/tmp", user: 7 } as const
  const long = `/${"a".repeat(120)}`

  it("is in the state directory if it is short enough in bytes", () => {
    const longest = `/${"a".repeat(103 - "/control.sock".length - 1)}`
    assert.deepStrictEqual(choose(longest, system), { path: `${longest}/control.sock` })
    assert.notStrictEqual(choose(`${longest}a`, system)?.path, `${longest}a/control.sock`)
    assert.notStrictEqual(choose(longest.replace("aa", "ä€"), system)?.path.length, 103)
  })

  it("is otherwise in the runtime directory, or in a directory of the user's own", () => {
    assert.match(choose(long, system)!.path, /^\/run\/user\/7\/mcp-supervisor\/[0-9a-f]{16}\.sock$/)
    assert.strictEqual(choose(long, { ...system, runtimeDir: undefined })?.directory, "/tmp/mcp-supervisor-7")
    assert.strictEqual(choose(long, { ...system, runtimeDir: "relative" })?.directory, "/tmp/mcp-supervisor-7")
    assert.strictEqual(choose(long, { ...system, runtimeDir: long })?.directory, "/tmp/mcp-supervisor-7")
    assert.notStrictEqual(choose(long, system)?.path, choose(`${long}b`, system)?.path)
  })

  it("is undefined on platforms without Unix sockets, and if every path is too long", () => {
    assert.isUndefined(choose("/state", { ...system, platform: "win32" }))
    assert.isUndefined(choose(long, { ...system, runtimeDir: long, temporary: long }))
  })
})
