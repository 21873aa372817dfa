import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import * as ToolName from "../../src/domain/catalog/ToolName.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  citySchema,
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
  textOf,
  withRandom
} from "./support.js"

const weather = { name: "weather", inputSchema: citySchema }

describe("finding the tool", () => {
  const open = { a: FakeConnector.open({ tools: ["read", "write"] }) }

  it.scoped("accepts the public name and the server's own name", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      assert.strictEqual(textOf(yield* supervisor.callTool("a_read")), "read")
      assert.strictEqual(textOf(yield* supervisor.callServerTool("a", "write")), "write")
    })
  )

  it.scoped("fails for an unknown name with the nearest name and the catalog revision", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } }, { scripts: open })
      const { revision } = yield* supervisor.catalog
      const error = yield* failsWith(supervisor.callTool("a_reads"), "ToolNotFound")
      assert.deepInclude(error, { tool: "a_reads", nearest: "a_read", revision })
      const raw = yield* failsWith(supervisor.callServerTool("a", "writes"), "ToolNotFound")
      assert.deepInclude(raw, { tool: "writes", nearest: "write", server: "a", revision })
      const server = yield* failsWith(supervisor.callServerTool("aa", "read"), "ServerNotFound")
      assert.deepInclude(server, { server: "aa", nearest: "a" })
    })
  )

  it.scoped("neither lists nor calls a filtered tool, by either name", () =>
    Effect.gen(function* () {
      const { count, supervisor, toolNames } = yield* supervise(
        { servers: { a: { ...local, tools: { write: false } }, b: local }, tools: { "b_*": false } },
        { scripts: { ...open, b: FakeConnector.open({ tools: ["x"] }) } }
      )
      assert.deepStrictEqual(yield* toolNames, ["a_read"])
      yield* failsWith(supervisor.callTool("a_write"), "ToolNotFound")
      yield* failsWith(supervisor.callServerTool("a", "write"), "ToolNotFound")
      yield* failsWith(supervisor.callServerTool("b", "x"), "ToolNotFound")
      assert.strictEqual(yield* count("a#1 called tools/call write"), 0)
    })
  )

  it.scoped("applies an agent's own filters to its catalog and its calls", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        {
          servers: { a: local },
          tools: { a_write: false },
          agents: { bold: { tools: { a_write: true } }, careful: { tools: { "*": false } } }
        },
        { scripts: open }
      )
      const namesFor = (agent: string) =>
        Effect.map(supervisor.catalogFor(agent), ({ tools }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* namesFor("bold"), ["a_read", "a_write"])
      assert.deepStrictEqual(yield* namesFor("careful"), [])
      assert.deepStrictEqual(yield* namesFor("unknown"), ["a_read"])
      yield* supervisor.callTool("a_write", {}, { agent: "bold" })
      yield* supervisor.callServerTool("a", "write", {}, { agent: "bold" })
      yield* failsWith(supervisor.callTool("a_write"), "ToolNotFound")
      yield* failsWith(supervisor.callTool("a_read", {}, { agent: "careful" }), "ToolNotFound")
      yield* failsWith(supervisor.callServerTool("a", "read", {}, { agent: "careful" }), "ToolNotFound")
    })
  )
})

describe("arguments", () => {
  it.scoped("that are invalid are rejected with their place before anything is sent", () =>
    Effect.gen(function* () {
      const { count, eventsOf, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: [weather] }) } }
      )
      const error = yield* failsWith(supervisor.callTool("a_weather", { city: 7 }), "InvalidArguments")
      assert.deepStrictEqual(error.issues[0].path, ["city"])
      yield* failsWith(supervisor.callTool("a_weather"), "InvalidArguments")
      yield* supervisor.callTool("a_weather", { city: "Rome" })
      assert.strictEqual(yield* count("a#1 called tools/call weather"), 1)
      assert.deepStrictEqual(
        eventsOf("CallSettled").map(({ outcome }) => outcome),
        ["InvalidArguments", "InvalidArguments", "ok"]
      )
    })
  )

  it.scoped("are checked before the state of the server and before any waiting", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [FakeConnector.open({ tools: [weather] }), FakeConnector.hang] } }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      yield* failsWith(supervisor.callTool("a_weather", { city: 7 }), "InvalidArguments")
      yield* supervisor.disable("a")
      yield* failsWith(supervisor.callTool("a_weather", { city: 7 }), "InvalidArguments")
      const error = yield* failsWith(supervisor.callTool("a_weather", { city: "Rome" }), "ServerUnavailable")
      assert.strictEqual(error.status.status, "disabled")
    })
  )

  it.scoped("are not checked if the schema cannot be compiled, with one diagnostic", () =>
    Effect.gen(function* () {
      const odd = { name: "odd", inputSchema: { type: "object", properties: { a: { $ref: "https://example.com/x" } } } }
      const { eventsOf, snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: [odd] }) } }
      )
      yield* supervisor.callTool("a_odd", { a: 1 })
      yield* supervisor.callTool("a_odd", { a: 1 })
      const { diagnostics } = yield* snapshot("a")
      assert.deepStrictEqual(
        diagnostics.map(({ code, subject }) => [code, subject]),
        [["schema_not_checked", "odd"]]
      )
      assert.lengthOf(eventsOf("Diagnostic"), 1)
    })
  )

  it.scoped("of a prompt are rejected if a required one is missing", () =>
    Effect.gen(function* () {
      const { count, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: { a: FakeConnector.open({ prompts: [{ name: "p", arguments: [{ name: "who", required: true }] }] }) }
        }
      )
      const error = yield* failsWith(supervisor.getPrompt("a", "p"), "InvalidArguments")
      assert.deepStrictEqual(error.issues[0].path, ["who"])
      assert.strictEqual(yield* count("a#1 called prompts/get p"), 0)
      assert.deepStrictEqual(yield* supervisor.getPrompt("a", "p", { who: "me" }), { messages: [] })
    })
  )
})

describe("a server that is not ready", () => {
  it.scoped("a call waits while the server connects", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      const named = yield* Effect.fork(supervisor.callTool("a_x"))
      assert.isFalse(yield* isOver(call))
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ tools: ["x"] }))
      assert.strictEqual(textOf(yield* call), "x")
      assert.strictEqual(textOf(yield* named), "x")
    })
  )

  it.scoped("a call that waited for an unknown tool fails with ToolNotFound", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callTool("a_y"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ tools: ["x"] }))
      assert.deepInclude(failureOf(yield* resultOf(call), "ToolNotFound"), { server: "a", nearest: "x" })
    })
  )

  it.scoped("the arguments of a call that waited are checked against the new schema", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callTool("a_weather", { city: 7 }))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ tools: [weather] }))
      failureOf(yield* resultOf(call), "InvalidArguments")
    })
  )

  it.scoped("a call waits 10 seconds, or as long as its options say", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const usual = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      const brief = yield* Effect.fork(supervisor.callServerTool("a", "x", {}, { waitForReady: "3 seconds" }))
      yield* passed("2999 millis")
      assert.isFalse(yield* isOver(brief))
      yield* passed("1 millis")
      assert.strictEqual(failureOf(yield* resultOf(brief), "ServerUnavailable").status.status, "connecting")
      yield* passed("6999 millis")
      assert.isFalse(yield* isOver(usual))
      yield* passed("1 millis")
      failureOf(yield* resultOf(usual), "ServerUnavailable")
    })
  )

  it.scoped("a call does not wait if its options say so", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x", {}, { waitForReady: 0 }))
      failureOf(yield* resultOf(call), "ServerUnavailable")
    })
  )

  it.scoped("waiting counts towards the total timeout", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x", {}, { totalTimeout: "4 seconds" }))
      yield* passed("4 seconds")
      const error = failureOf(yield* resultOf(call), "CallTimeout")
      assert.deepInclude(error, { which: "total", sent: false, after: 4000 })
    })
  )

  it.scoped("the server gets the rest of the total timeout", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(
        supervisor.callServerTool("a", "x", {}, { totalTimeout: "8 seconds", idleTimeout: "1 hour" })
      )
      yield* passed("5 seconds")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) =>
        attempt.open({ tools: ["x"], calls: { x: Effect.never } })
      )
      yield* controls.awaitCall("a")
      yield* passed("2999 millis")
      assert.isFalse(yield* isOver(call))
      yield* passed("1 millis")
      assert.deepInclude(failureOf(yield* resultOf(call), "CallTimeout"), { which: "total", sent: true })
    })
  )

  it.scoped("a call waits for a retry within its waiting time, and fails at once for a later one", () =>
    Effect.gen(function* () {
      const busy = (retryAfter: number) =>
        FakeConnector.fail(new Errors.HttpFailed({ server: "a", status: 503, retryAfter }))
      const { status, supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [busy(20_000), FakeConnector.open({ tools: ["x"] })] } }
      )
      assert.deepInclude(yield* status("a"), { status: "failed", retryAt: 20_000 })
      const far = yield* failsWith(supervisor.callServerTool("a", "x"), "ServerUnavailable")
      assert.deepInclude(far.status, { status: "failed", retryAt: 20_000 })
      yield* passed("11 seconds")
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      assert.isFalse(yield* isOver(call))
      yield* passed("9 seconds")
      assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "x")
    })
  )

  it.scoped("a waiting call fails as soon as the server cannot become ready", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.fail(notFound()))
      assert.strictEqual(failureOf(yield* resultOf(call), "ServerUnavailable").status.status, "failed")
    })
  )

  it.scoped("interrupting a waiting call does not end the attempt", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const first = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      const second = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      yield* settle
      yield* Fiber.interrupt(first)
      const attempt = yield* controls.awaitAttempt("a")
      assert.strictEqual(yield* attempt.stage, "opening")
      yield* attempt.open({ tools: ["x"] })
      assert.strictEqual(textOf(yield* second), "x")
    })
  )

  it.scoped("a prompt without a required argument is rejected, also if it is listed later", () =>
    Effect.gen(function* () {
      const { controls, story, supervisor } = yield* supervise({ servers: { a: local } })
      const asked = yield* Effect.fork(supervisor.getPrompt("a", "p"))
      yield* settle
      const prompt = { name: "p", arguments: [{ name: "who", required: true }] }
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ prompts: [prompt] }))
      failureOf(yield* resultOf(asked), "InvalidArguments")
      assert.deepStrictEqual(yield* story("a#1 called"), [])
    })
  )

  it.scoped("a plain name that will be ambiguous does not reach a tool while its server connects", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: local, a_b: local, "my server": local } },
        { scripts: { a_b: FakeConnector.open({ tools: ["x"] }) } }
      )
      for (const name of ["a_b_c", "my server_t", "supervisor_x"]) {
        yield* failsWith(supervisor.callTool(name), "ToolNotFound")
      }
    })
  )

  it.scoped("a name with a hash waits for the servers that may have that tool", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { "my server": local, other: local } })
      const name = ToolName.namer(["my server", "other"])({ server: "my server", tool: "t" })
      const call = yield* Effect.fork(supervisor.callTool(name))
      assert.isFalse(yield* isOver(call))
      yield* Effect.flatMap(controls.awaitAttempt("my server"), (attempt) => attempt.open({ tools: ["t"] }))
      assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "t")
    })
  )

  it.scoped("a call to a removed server fails with ServerNotFound", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: local } })
      const call = yield* Effect.fork(supervisor.callServerTool("a", "x"))
      yield* settle
      yield* supervisor.remove("a")
      failureOf(yield* resultOf(call), "ServerNotFound")
    })
  )

  it.scoped("every kind of request waits in the same way", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise({ servers: { a: local } })
      const read = yield* Effect.fork(supervisor.readResource("a", "file:///x"))
      const complete = yield* Effect.fork(
        supervisor.complete("a", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "who", value: "m" } })
      )
      yield* settle
      const completion = { completion: { values: ["me"] } } as Protocol.CompleteResult
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) =>
        attempt.open({ resources: ["file:///x"], completes: completion })
      )
      assert.deepStrictEqual((yield* read).contents[0]?.uri, "file:///x")
      assert.deepStrictEqual(yield* complete, completion)
      yield* supervisor.disable("a")
      yield* failsWith(supervisor.readResource("a", "file:///x"), "ServerUnavailable")
      yield* failsWith(supervisor.readResource("b", "file:///x"), "ServerNotFound")
    })
  )

  it.scoped("a call does not wait for a retry that is later than its waiting time", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.fail(refused()) } }
      )
      yield* TestClock.adjust("2 minutes")
      const options = { waitForReady: 1 }
      yield* failsWith(supervisor.callServerTool("a", "x", {}, options), "ServerUnavailable")
    }).pipe(withRandom(0.9))
  )
})
