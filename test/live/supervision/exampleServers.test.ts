import { type Client, type ClientOptions, ProtocolError } from "@modelcontextprotocol/client"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioClientTransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { assert, describe, it } from "vitest"
import {
  clockServer,
  closeAtEndOfTest,
  connectClient,
  greetServer,
  makeInbox,
  pythonIsInstalled,
  stdioParameters,
  startRaw,
  todoServer,
  websearchServer
} from "../support/exampleServers.js"

const callText = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const result = await client.callTool({ name, arguments: args })
  const [content] = result.content
  assert(content?.type === "text", "the result starts with a text")
  return { text: content.text, isError: result.isError ?? false }
}

const toolNames = async (client: Client) => (await client.listTools()).tools.map((tool) => tool.name)

const annotationsByTool = async (client: Client) =>
  Object.fromEntries((await client.listTools()).tools.map((tool) => [tool.name, tool.annotations]))

const protocolErrorOf = async (action: Promise<unknown>) => {
  const outcome = await action.then(
    () => "the call succeeded",
    (error: unknown) => error
  )
  assert.instanceOf(outcome, ProtocolError)
  return outcome
}

const searchRequest = (query: unknown) => ({
  id: 1,
  method: "tools/call",
  params: { name: "search_web", arguments: { query } }
})

const protocols: ReadonlyArray<{ readonly version: string; readonly options: ClientOptions }> = [
  { version: "2025-11-25", options: { versionNegotiation: { mode: "legacy" } } },
  { version: "2026-07-28", options: { versionNegotiation: { mode: { pin: "2026-07-28" } } } }
]

describe.each(protocols)("over protocol $version", ({ version, options }) => {
  describe("greet.mjs", () => {
    it("speaks the protocol version the client asks for", async () => {
      const client = await connectClient(greetServer, options)
      assert.strictEqual(client.getNegotiatedProtocolVersion(), version)
      assert.strictEqual(client.getServerVersion()?.name, "greet")
    })

    it("offers one read-only tool and greets by name", async () => {
      const client = await connectClient(greetServer, options)
      assert.deepStrictEqual(await annotationsByTool(client), { greet: { readOnlyHint: true, openWorldHint: false } })
      assert.deepStrictEqual(await callText(client, "greet", { name: "Zoë" }), { text: "Hello, Zoë!", isError: false })
    })

    it("answers a call without a name with an error result", async () => {
      const client = await connectClient(greetServer, options)
      const { text, isError } = await callText(client, "greet")
      assert.isTrue(isError)
      assert.include(text, "name")
    })
  })

  describe("todo.mjs", () => {
    it("says which of its tools only read and which may be repeated", async () => {
      const client = await connectClient(todoServer, options)
      const writes = { readOnlyHint: false, destructiveHint: false, openWorldHint: false }
      assert.deepStrictEqual(await annotationsByTool(client), {
        add_todo: { ...writes, idempotentHint: false },
        list_todos: { readOnlyHint: true, openWorldHint: false },
        complete_todo: { ...writes, idempotentHint: true }
      })
    })

    it("remembers todos and which of them are done", async () => {
      const client = await connectClient(todoServer, options)
      assert.strictEqual((await callText(client, "list_todos")).text, "No todos yet")
      assert.strictEqual((await callText(client, "add_todo", { text: "Buy milk" })).text, "Added: Buy milk (id: 1)")
      assert.strictEqual((await callText(client, "add_todo", { text: "Call Ann" })).text, "Added: Call Ann (id: 2)")
      assert.strictEqual((await callText(client, "complete_todo", { id: "1" })).text, "Completed: Buy milk")
      assert.strictEqual((await callText(client, "list_todos")).text, "[x] 1: Buy milk\n[ ] 2: Call Ann")
    })

    it("gives every todo its own id even when many are added at once", async () => {
      const client = await connectClient(todoServer, options)
      const texts = Array.from({ length: 50 }, (_, index) => `todo ${index}`)
      const answers = await Promise.all(texts.map((text) => callText(client, "add_todo", { text })))
      const ids = answers.map((answer) => /\(id: (.+)\)$/.exec(answer.text)?.[1])
      assert.notInclude(ids, undefined)
      assert.strictEqual(new Set(ids).size, texts.length)
    })

    it("answers an unknown id with an error result", async () => {
      const client = await connectClient(todoServer, options)
      assert.deepStrictEqual(await callText(client, "complete_todo", { id: "99" }), {
        text: "Todo not found: 99",
        isError: true
      })
    })
  })

  describe("clock.mjs", () => {
    it("tells the time in UTC and in a given zone", async () => {
      const client = await connectClient(clockServer, options)
      const before = Date.now()
      const utc = await callText(client, "now")
      const tokyo = await callText(client, "now", { timeZone: "Asia/Tokyo" })
      const after = Date.now()
      assert.match(utc.text, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
      assert.match(tokyo.text, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+09:00$/)
      for (const time of [utc, tokyo].map((answer) => Date.parse(answer.text))) {
        assert.isAtLeast(time, before)
        assert.isAtMost(time, after)
      }
    })

    it("answers an unknown time zone with an error result that names it", async () => {
      const client = await connectClient(clockServer, options)
      assert.deepStrictEqual(await callText(client, "now", { timeZone: "Mars/Olympus" }), {
        text: "Unknown time zone: Mars/Olympus",
        isError: true
      })
    })

    it("reports every step of a countdown in order and then answers", async () => {
      const client = await connectClient(clockServer, options)
      const inbox = makeInbox<{ readonly progress: number; readonly total?: number | undefined }>()
      // not `onprogress`: the client forgets that callback as soon as the answer is read, and so loses
      // a last notification that arrives in the same chunk
      client.setNotificationHandler("notifications/progress", ({ params }) => inbox.put(params))
      const result = await client.callTool({
        name: "countdown",
        arguments: { steps: 5, intervalMs: 0 },
        _meta: { progressToken: "steps" }
      })
      const reports = await Promise.all(Array.from({ length: 5 }, () => inbox.take()))
      assert.deepStrictEqual(
        reports.map(({ progress, total }) => [progress, total]),
        [1, 2, 3, 4, 5].map((step) => [step, 5])
      )
      assert.strictEqual(inbox.size(), 0)
      assert.deepStrictEqual(result.content, [{ type: "text", text: "Countdown finished after 5 steps" }])
    })

    it("reports nothing to a caller that sent no progress token", async () => {
      const client = await connectClient(clockServer, options)
      const inbox = makeInbox<unknown>()
      client.setNotificationHandler("notifications/progress", ({ params }) => inbox.put(params))
      const answer = await callText(client, "countdown", { steps: 1, intervalMs: 0 })
      assert.strictEqual(answer.text, "Countdown finished after 1 step")
      assert.strictEqual(inbox.size(), 0)
    })

    it("rejects a countdown outside of its limits", async () => {
      const client = await connectClient(clockServer, options)
      for (const args of [{ steps: 0 }, { steps: 101 }, { steps: 1.5 }, { steps: 1, intervalMs: 1001 }]) {
        assert.isTrue((await callText(client, "countdown", args)).isError, JSON.stringify(args))
      }
    })

    it("stays usable after a countdown was cancelled", async () => {
      const client = await connectClient(clockServer, options)
      const cancellation = new AbortController()
      const outcome = await client
        .callTool(
          { name: "countdown", arguments: { steps: 100, intervalMs: 1000 } },
          { signal: cancellation.signal, onprogress: () => cancellation.abort("changed my mind") }
        )
        .then(
          () => "answered",
          () => "cancelled"
        )
      assert.strictEqual(outcome, "cancelled")
      assert.isFalse((await callText(client, "now")).isError)
    })

    it("tells the client when the alarm tool comes and goes", async () => {
      const changes = makeInbox<Error | null>()
      const onChanged = (error: Error | null) => changes.put(error)
      const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged } }
      const client = await connectClient(clockServer, { ...options, listChanged })
      const always = ["now", "countdown", "set_alarm_tools"]
      assert.sameMembers(await toolNames(client), always)

      assert.strictEqual((await callText(client, "set_alarm_tools", { enabled: true })).text, "The alarm tool is on")
      assert.isNull(await changes.take())
      assert.sameMembers(await toolNames(client), [...always, "alarm"])
      assert.strictEqual((await callText(client, "alarm", { label: "tea" })).text, "Alarm: tea")

      assert.strictEqual((await callText(client, "set_alarm_tools", { enabled: false })).text, "The alarm tool is off")
      assert.isNull(await changes.take())
      assert.sameMembers(await toolNames(client), always)
      assert.strictEqual((await protocolErrorOf(callText(client, "alarm", { label: "tea" }))).code, -32_602)
    })

    it("tells the client nothing when the tool list stays the same", async () => {
      const changes = makeInbox<Error | null>()
      const onChanged = (error: Error | null) => changes.put(error)
      const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged } }
      const client = await connectClient(clockServer, { ...options, listChanged })
      await callText(client, "set_alarm_tools", { enabled: true })
      await callText(client, "set_alarm_tools", { enabled: true })
      await callText(client, "set_alarm_tools", { enabled: false })
      await changes.take()
      await changes.take()
      assert.strictEqual(changes.size(), 0)
    })
  })
})

describe("greet.mjs", () => {
  it("also serves a client of the first SDK generation", async () => {
    const client = new ClientV1({ name: "example-servers-test", version: "1.0.0" })
    const transport = new StdioClientTransportV1(stdioParameters(greetServer))
    closeAtEndOfTest(client, transport)
    await client.connect(transport)
    const { tools } = await client.listTools()
    assert.deepStrictEqual(
      tools.map((tool) => tool.name),
      ["greet"]
    )
    const result = await client.callTool({ name: "greet", arguments: { name: "Ada" } })
    assert.deepStrictEqual(result.content, [{ type: "text", text: "Hello, Ada!" }])
  })
})

describe("clock.mjs", () => {
  it("stops a cancelled countdown at once and never answers it", async () => {
    const server = startRaw(clockServer)
    await server.initialize()
    const countdown = (id: string, steps: number) =>
      server.send({
        id,
        method: "tools/call",
        params: { name: "countdown", arguments: { steps, intervalMs: 10 }, _meta: { progressToken: id } }
      })

    countdown("cancelled", 100)
    assert.strictEqual((await server.receive()).params?.progressToken, "cancelled")
    server.send({ method: "notifications/cancelled", params: { requestId: "cancelled" } })

    // the server reads in order: once the second countdown reports, the cancellation was seen
    countdown("finished", 5)
    const tokens: Array<unknown> = []
    let message = await server.receive()
    while (message.id === undefined) {
      tokens.push(message.params?.progressToken)
      message = await server.receive()
    }
    assert.strictEqual(message.id, "finished")
    const afterCancellation = tokens.slice(tokens.indexOf("finished"))
    assert.deepStrictEqual(
      afterCancellation,
      Array.from({ length: 5 }, () => "finished")
    )

    server.endInput()
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
  })

  it("does not let a running countdown keep it alive after its input ended", async () => {
    const server = startRaw(clockServer)
    await server.initialize()
    const longest = { name: "countdown", arguments: { steps: 100, intervalMs: 1000 } }
    server.send({ id: "longest", method: "tools/call", params: longest })
    // the server reads in order: once it answers the ping, the countdown runs
    assert.strictEqual((await server.ask({ id: "ping", method: "ping" })).id, "ping")
    server.endInput()
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
  })
})

describe.each([
  { name: "greet.mjs", command: greetServer },
  { name: "todo.mjs", command: todoServer },
  { name: "clock.mjs", command: clockServer },
  ...(pythonIsInstalled ? [{ name: "websearch.py", command: websearchServer }] : [])
])("$name when its input ends", ({ command }) => {
  it("ends by itself with code 0 after a conversation", async () => {
    const server = startRaw(command)
    assert.strictEqual((await server.initialize()).result?.protocolVersion, "2025-11-25")
    assert.isArray((await server.ask({ id: 1, method: "tools/list" })).result?.tools)
    server.endInput()
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
    assert.strictEqual(server.errorOutput(), "")
  })

  it("ends by itself with code 0 before anything was said", async () => {
    const server = startRaw(command)
    server.endInput()
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
    assert.strictEqual(server.errorOutput(), "")
  })
})

if (!pythonIsInstalled) {
  process.stderr.write("Note: python3 was not found, so the tests of websearch.py are left out.\n")
}

describe.runIf(pythonIsInstalled)("websearch.py (left out where there is no python3)", () => {
  describe("with a client", () => {
    it("falls back to the older protocol for a client that asks for the newest first", async () => {
      const client = await connectClient(websearchServer, { versionNegotiation: { mode: "auto" } })
      assert.strictEqual(client.getProtocolEra(), "legacy")
      assert.deepStrictEqual(client.getServerVersion(), { name: "web-search", version: "1.0.0" })
      assert.deepStrictEqual(client.getServerCapabilities(), { tools: {} })
    })

    it("offers search_web and lists the best matches first", async () => {
      const client = await connectClient(websearchServer)
      assert.deepStrictEqual(await toolNames(client), ["search_web"])
      const { text, isError } = await callText(client, "search_web", { query: "json python" })
      assert.isFalse(isError)
      assert.deepStrictEqual(text.split("\n"), [
        "Search results for 'json python':",
        "",
        "1. Python: json",
        "   https://docs.python.org/3/library/json.html",
        "   How to read and write JSON in Python with the standard library.",
        "",
        "2. JSON-RPC 2.0 Specification",
        "   https://www.jsonrpc.org/specification",
        "   A stateless remote procedure call protocol that uses JSON: requests, responses, errors.",
        ""
      ])
    })

    it("lists five results at most", async () => {
      const client = await connectClient(websearchServer)
      const { text } = await callText(client, "search_web", { query: "a the and to with" })
      assert.deepStrictEqual(text.match(/^\d+(?=\. )/gm), ["1", "2", "3", "4", "5"])
    })

    it("says so when nothing matches", async () => {
      const client = await connectClient(websearchServer)
      assert.deepStrictEqual(await callText(client, "search_web", { query: "xylophone" }), {
        text: "No results for 'xylophone'.",
        isError: false
      })
    })

    it("turns a missing argument into a protocol error", async () => {
      const client = await connectClient(websearchServer)
      const error = await protocolErrorOf(client.callTool({ name: "search_web", arguments: {} }))
      assert.strictEqual(error.code, -32_602)
      assert.include(error.message, "query")
    })
  })

  describe("line by line", () => {
    it.each([
      { problem: "an unknown method", message: { id: 1, method: "server/discover" }, code: -32_601 },
      { problem: "an unknown tool", message: { id: 1, method: "tools/call", params: { name: "fly" } }, code: -32_602 },
      {
        problem: "a missing argument",
        message: { id: 1, method: "tools/call", params: { name: "search_web" } },
        code: -32_602
      },
      { problem: "an argument of the wrong type", message: searchRequest(42), code: -32_602 },
      {
        problem: "arguments that are no object",
        message: { id: 1, method: "tools/call", params: { name: "search_web", arguments: [] } },
        code: -32_602
      },
      { problem: "params that are no object", message: { id: 1, method: "ping", params: [] }, code: -32_602 },
      { problem: "initialize without a version", message: { id: 1, method: "initialize" }, code: -32_602 }
    ])("answers $problem with error $code and keeps serving", async ({ message, code }) => {
      const server = startRaw(websearchServer)
      const answer = await server.ask(message)
      assert.strictEqual(answer.id, 1)
      assert.strictEqual(answer.error?.code, code)
      assert.deepStrictEqual((await server.ask({ id: 2, method: "ping" })).result, {})
    })

    it.each([
      { problem: "half a message", line: '{"jsonrpc": "2.0", "id": 1, ', code: -32_700 },
      { problem: "a number JSON does not have", line: '{"jsonrpc": "2.0", "id": NaN}', code: -32_700 },
      { problem: "bytes that are not UTF-8", line: Uint8Array.of(0x22, 0xff, 0xfe, 0x22), code: -32_700 },
      { problem: "JSON that is nested too deep", line: "[".repeat(200_000), code: -32_700 },
      { problem: "JSON that is no message", line: "[1, 2, 3]", code: -32_600 },
      { problem: "a message without a method", line: '{"jsonrpc": "2.0", "id": 1}', code: -32_600 },
      {
        problem: "an object as id",
        line: '{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        code: -32_600
      }
    ])("answers $problem with error $code and id null and keeps serving", async ({ line, code }) => {
      const server = startRaw(websearchServer)
      server.sendLine(line)
      const answer = await server.receive()
      assert.isNull(answer.id)
      assert.strictEqual(answer.error?.code, code)
      assert.deepStrictEqual((await server.ask({ id: 2, method: "ping" })).result, {})
    })

    it("answers neither notifications nor answers nor empty lines", async () => {
      const server = startRaw(websearchServer)
      server.send({ method: "notifications/initialized" })
      server.send({ method: "notifications/unheard_of" })
      server.send({ id: 7, result: {} })
      server.sendLine("")
      assert.strictEqual((await server.ask({ id: "after", method: "ping" })).id, "after")
    })

    it("echoes whatever protocol version the client names", async () => {
      const server = startRaw(websearchServer)
      const { result } = await server.ask({ id: 1, method: "initialize", params: { protocolVersion: "2024-11-05" } })
      assert.deepStrictEqual(result, {
        protocolVersion: "2024-11-05",
        capabilities: { tools: {} },
        serverInfo: { name: "web-search", version: "1.0.0" }
      })
    })

    it("speaks UTF-8 even where the locale does not", async () => {
      const server = startRaw(websearchServer, { LC_ALL: "C", PYTHONUTF8: "0", PYTHONIOENCODING: "ascii" })
      const found = await server.ask(searchRequest("café"))
      assert.include(JSON.stringify(found.result), "A café guide to Zürich")
      const missing = await server.ask(searchRequest("検索 🔍 \ud800"))
      assert.deepStrictEqual(missing.result?.content, [{ type: "text", text: "No results for '検索 🔍 \ud800'." }])
    })

    it("answers an unexpected failure with error -32603 for that request and keeps serving", async () => {
      const breakTheTool = [
        "import sys",
        "sys.path.insert(0, 'examples/servers')",
        "import websearch",
        "websearch.find_entries = lambda query: 1 / 0",
        "websearch.main()"
      ].join("\n")
      const server = startRaw({ command: "python3", args: ["-B", "-c", breakTheTool] })
      const answer = await server.ask(searchRequest("anything"))
      assert.strictEqual(answer.id, 1)
      assert.deepStrictEqual(answer.error, { code: -32_603, message: "Internal error" })
      assert.deepStrictEqual((await server.ask({ id: 2, method: "ping" })).result, {})
      server.endInput()
      assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
      assert.include(server.errorOutput(), "ZeroDivisionError")
    })
  })
})
