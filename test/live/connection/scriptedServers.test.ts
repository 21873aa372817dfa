import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import {
  Client,
  type ClientOptions,
  SSEClientTransport,
  StreamableHTTPClientTransport
} from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { assert, onTestFinished } from "vitest"
import { ScriptedServer } from "../../../src/testing/Testing.js"

const { answer, close, event, exit, head, kill, notify, progress, respond, sleep, write } = ScriptedServer

interface Rpc {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: Record<string, unknown>
}

const call = (id: number, name: string, rest: Record<string, unknown> = {}) => ({
  id,
  method: "tools/call",
  params: { name, ...rest }
})

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

/** Starts a scripted server and talks to it line by line. It ends with the test. */
const start = (script: ScriptedServer.StdioScript) => {
  const { command, args } = ScriptedServer.stdio(script)
  const child = spawn(command, args)
  const exited = once(child, "exit") as Promise<[code: number | null, signal: string | null]>
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const errorLines = createInterface({ input: child.stderr })[Symbol.asyncIterator]()
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await exited
    assert.isTrue(isGone(child.pid!))
  })
  const send = (...messages: ReadonlyArray<Record<string, unknown>>) => {
    for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  }
  const line = async () => (await lines.next()).value as string | undefined
  const receive = async (): Promise<Rpc> => JSON.parse((await line()) ?? "null")
  return {
    child,
    exited,
    send,
    line,
    receive,
    ask: (message: Record<string, unknown>) => {
      send(message)
      return receive()
    },
    errorLine: async () => (await errorLines.next()).value as string | undefined
  }
}

/** Uses all features of a correct server, through the SDK. */
const useAll = async (client: Client) => {
  const { tools } = await client.listTools()
  const { content } = await client.callTool({ name: "two" })
  const { contents } = await client.readResource({ uri: "file:///ä" })
  const { messages } = await client.getPrompt({ name: "hello" })
  return { tools: tools.map(({ name }) => name), content, contents, messages }
}

const goodScript = {
  instructions: "Be nice — ${please}",
  tools: ["one", { name: "two", description: "zwei", inputSchema: { type: "object" } }, "three"],
  resources: ["file:///ä"],
  prompts: ["hello"],
  pageSize: 2
}

const goodAnswers = {
  tools: ["one", "two", "three"],
  content: [{ type: "text", text: "two" }],
  contents: [{ uri: "file:///ä", text: "file:///ä" }],
  messages: []
}

const clientInfo = { name: "test", version: "1.0.0" }
const legacy: ClientOptions = { versionNegotiation: { mode: "legacy" } }
const modern: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } }

describe("a server on stdio", () => {
  it.each([
    ["2025-11-25", undefined, legacy],
    ["2025-03-26", "2025-03-26", legacy],
    ["2026-07-28", "2026-07-28", modern]
  ] as const)("behaves correctly without rules, over %s", async (version, protocolVersion, options) => {
    const client = new Client(clientInfo, options)
    const { command, args } = ScriptedServer.stdio({ ...goodScript, protocolVersion })
    const transport = new StdioClientTransport({ command, args: [...args] })
    onTestFinished(() => client.close())
    await client.connect(transport)
    assert.strictEqual(client.getNegotiatedProtocolVersion(), version)
    assert.strictEqual(client.getInstructions(), goodScript.instructions)
    assert.deepStrictEqual<unknown>(await useAll(client), goodAnswers)
    const { pid } = transport
    await client.close()
    assert.isTrue(isGone(pid!))
  })

  it("has no variable of config files in its arguments", () => {
    const { args } = ScriptedServer.stdio(goodScript)
    assert.notMatch(args.join(" "), /[{}$"']/)
  })

  it("applies the first rule that matches method, params and count", async () => {
    const server = start({
      tools: ["a", "b"],
      rules: [
        { on: "tools/call", where: { name: "a" }, nth: 2, do: [ScriptedServer.error(-1, "second", { n: 2 })] },
        {
          on: "tools/call",
          where: { name: "a" },
          do: [answer({ content: [], structuredContent: ScriptedServer.params })]
        },
        { on: "nonsense", do: [answer({ size: ScriptedServer.filler(300_000) })] }
      ]
    })
    assert.deepStrictEqual((await server.ask(call(1, "a"))).result?.structuredContent, { name: "a" })
    assert.deepStrictEqual((await server.ask(call(2, "b"))).result?.content, [{ type: "text", text: "b" }])
    assert.deepStrictEqual((await server.ask(call(3, "a"))).error, { code: -1, message: "second", data: { n: 2 } })
    assert.deepStrictEqual((await server.ask(call(4, "a"))).result?.structuredContent, { name: "a" })
    assert.strictEqual((await server.ask(call(5, "c"))).error?.code, -32602)
    assert.strictEqual((await server.ask({ id: 6, method: "unheard/of" })).error?.code, -32601)
    assert.lengthOf((await server.ask({ id: 7, method: "nonsense" })).result?.size as string, 300_000)
  })

  it("ignores or delays one request and answers the others", async () => {
    const server = start({
      rules: [
        { on: "silent", do: [] },
        { on: "slow", do: [sleep(50), answer({})] }
      ]
    })
    server.send({ id: 1, method: "silent" }, { id: 2, method: "slow" }, { id: 3, method: "ping" })
    assert.strictEqual((await server.receive()).id, 3)
    assert.strictEqual((await server.receive()).id, 2)
  })

  it("writes garbage before and after its responses", async () => {
    const server = start({
      rules: [
        { on: "start", do: [write("Listening…\n"), ScriptedServer.stderr("up\n")] },
        {
          on: "ping",
          do: [write(new Uint8Array([0x7b, 0xff, 0x0a])), answer({}), write("x", { times: 3 }), write("\n")]
        }
      ]
    })
    assert.strictEqual(await server.errorLine(), "up")
    assert.strictEqual(await server.line(), "Listening…")
    server.send({ id: 1, method: "ping" })
    assert.strictEqual(await server.line(), "{\ufffd")
    assert.deepInclude(await server.receive(), { id: 1, result: {} })
    assert.strictEqual(await server.line(), "xxx")
  })

  it("ends in the middle of a message, with a code or by a signal", async () => {
    const half = start({ rules: [{ on: "ping", do: [write('{"jsonrpc":"2.0",'), exit(3)] }] })
    half.send({ id: 1, method: "ping" })
    assert.strictEqual(await half.line(), '{"jsonrpc":"2.0",')
    assert.isUndefined(await half.line())
    assert.deepStrictEqual(await half.exited, [3, null])
    const killed = start({ rules: [{ on: "start", do: [kill("SIGKILL")] }] })
    assert.deepStrictEqual(await killed.exited, [null, "SIGKILL"])
  })

  it("floods stderr before a response", async () => {
    const server = start({ rules: [{ on: "ping", do: [ScriptedServer.stderr("e", { times: 1_000_000 }), answer()] }] })
    let size = 0
    server.child.stderr.on("data", (chunk: Buffer) => {
      size += chunk.length
    })
    assert.deepInclude(await server.ask({ id: 1, method: "ping" }), { result: {} })
    server.child.stdin.end()
    await once(server.child, "close")
    assert.strictEqual(size, 1_000_000)
  })

  it("notifies and reports progress with the caller's token only", async () => {
    const server = start({
      tools: ["a"],
      rules: [
        {
          on: "tools/call",
          do: [notify("notifications/tools/list_changed"), progress(1, { total: 2, message: "half" }), answer()]
        }
      ]
    })
    server.send(call(1, "a", { _meta: { progressToken: "t" } }))
    assert.strictEqual((await server.receive()).method, "notifications/tools/list_changed")
    assert.deepStrictEqual((await server.receive()).params, {
      progressToken: "t",
      progress: 1,
      total: 2,
      message: "half"
    })
    assert.strictEqual((await server.receive()).id, 1)
    server.send(call(2, "a"))
    assert.strictEqual((await server.receive()).method, "notifications/tools/list_changed")
    assert.strictEqual((await server.receive()).id, 2)
  })

  it("sends a request, waits for the response and reports it", async () => {
    const server = start({
      rules: [
        {
          on: "tools/call",
          do: [
            ScriptedServer.ask("roots/list"),
            answer({ answer: ScriptedServer.answerOfClient, all: ScriptedServer.received })
          ]
        }
      ]
    })
    const question = await server.ask(call(1, "a"))
    assert.strictEqual(question.method, "roots/list")
    const reply = { jsonrpc: "2.0", id: question.id!, result: { roots: [] } }
    const { result } = await server.ask(reply)
    assert.deepStrictEqual(result, { answer: reply, all: [{ jsonrpc: "2.0", ...call(1, "a") }, reply] })
  })

  it("ignores the end of its input and signals", async () => {
    const server = start({
      rules: [
        { on: "eof", do: [ScriptedServer.stderr("no\n")] },
        { on: "SIGTERM", nth: 1, do: [ScriptedServer.stderr("never\n")] },
        { on: "start", do: [ScriptedServer.stderr("up\n")] }
      ]
    })
    assert.strictEqual(await server.errorLine(), "up")
    server.child.stdin.end()
    assert.strictEqual(await server.errorLine(), "no")
    server.child.kill("SIGTERM")
    assert.strictEqual(await server.errorLine(), "never")
    server.child.kill("SIGTERM")
    assert.deepStrictEqual(await server.exited, [null, "SIGTERM"])
  })

  it("exits by itself after its lifetime, whatever it ignores", async () => {
    const server = start({ lifetime: 300, rules: [{ on: "eof", do: [] }] })
    server.child.stdin.end()
    assert.deepStrictEqual(await server.exited, [0, null])
  })

  it("closes stdout and keeps running", async () => {
    const server = start({ rules: [{ on: "ping", do: [close, ScriptedServer.stderr("alive\n")] }] })
    server.send({ id: 1, method: "ping" })
    assert.isUndefined(await server.line())
    assert.strictEqual(await server.errorLine(), "alive")
  })

  it("leaves a grandchild that holds stdout open", async () => {
    const server = start({ rules: [{ on: "ping", do: [ScriptedServer.spawn({ holdStdout: true }), exit(0)] }] })
    server.send({ id: 1, method: "ping" })
    const pid = Number(/^grandchild (\d+)$/.exec((await server.errorLine()) ?? "")?.[1])
    const ended = once(server.child.stdout, "end")
    try {
      assert.deepStrictEqual(await server.exited, [0, null])
      assert.isFalse(isGone(pid))
      assert.isFalse(server.child.stdout.readableEnded)
    } finally {
      process.kill(pid, "SIGKILL")
    }
    await ended
  })
})

describe("a server on HTTP", () => {
  const post = (url: string, message: Record<string, unknown>, init: RequestInit = {}) =>
    Effect.promise((signal) =>
      fetch(url, {
        method: "POST",
        signal,
        redirect: "manual",
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
        ...init
      })
    )

  const bodyOf = (response: Response) => Effect.promise(() => response.text())

  const failureOf = (promise: () => Promise<unknown>) => Effect.flip(Effect.tryPromise(promise))

  const ping = { id: 1, method: "ping" }

  const connect = (transport: Parameters<Client["connect"]>[0], options: ClientOptions) =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const client = new Client(clientInfo, options)
        await client.connect(transport)
        return client
      }),
      (client) => Effect.promise(() => client.close())
    )

  it.scopedLive.each([
    [{}, legacy],
    [{ sse: true, sessions: true }, legacy],
    [{ protocolVersion: "2026-07-28" }, modern]
  ] as ReadonlyArray<[ScriptedServer.HttpScript, ClientOptions]>)(
    "behaves correctly without rules: %j",
    ([script, options]) =>
      Effect.gen(function* () {
        const { requests, url } = yield* ScriptedServer.http({ ...goodScript, ...script })
        const client = yield* connect(new StreamableHTTPClientTransport(new URL(url)), options)
        assert.deepStrictEqual<unknown>(yield* Effect.promise(() => useAll(client)), goodAnswers)
        const asked = (yield* requests).filter(({ method }) => method === "POST")
        assert.deepInclude(asked.at(-1)?.body, { method: "prompts/get" })
        assert.strictEqual("mcp-session-id" in asked.at(-1)!.headers, script.sessions === true)
      })
  )

  it.scopedLive("speaks the old transport of two endpoints", () =>
    Effect.gen(function* () {
      const { url } = yield* ScriptedServer.http({ ...goodScript, transport: "sse" })
      assert.strictEqual((yield* post(url, ping)).status, 405)
      const client = yield* connect(new SSEClientTransport(new URL(url)), legacy)
      assert.deepStrictEqual<unknown>(yield* Effect.promise(() => useAll(client)), goodAnswers)
    })
  )

  it.scopedLive("responds with any status and headers, and accepts new rules", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        rules: [
          { on: "*", nth: 1, do: respond(401, { headers: { "www-authenticate": "Bearer scope=x" }, body: "no" }) },
          { on: "ping", nth: 2, do: respond(307, { headers: { location: "/other" } }) }
        ]
      })
      const first = yield* post(server.url, ping)
      assert.deepStrictEqual([first.status, first.headers.get("www-authenticate")], [401, "Bearer scope=x"])
      assert.strictEqual(yield* bodyOf(first), "no")
      assert.strictEqual((yield* post(server.url, ping)).headers.get("location"), "/other")
      assert.strictEqual((yield* post(server.url, ping)).status, 200)
      assert.strictEqual((yield* post(server.url, { method: "notifications/initialized" })).status, 202)
      yield* server.setRules([{ on: "ping", do: respond(503, { headers: { "retry-after": "7" } }) }])
      assert.strictEqual((yield* post(server.url, ping)).headers.get("retry-after"), "7")
    })
  )

  it.scopedLive("creates sessions and forgets them", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        sessions: true,
        rules: [{ on: "boom", do: [ScriptedServer.forget, answer({})] }]
      })
      const initialize = { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } }
      const open = Effect.map(post(server.url, initialize), ({ headers }) => ({
        "mcp-session-id": headers.get("mcp-session-id") ?? ""
      }))
      const status = (headers: Record<string, string>, message = ping) =>
        Effect.map(post(server.url, message, { headers }), ({ status }) => status)
      const headers = yield* open
      assert.strictEqual(yield* status({}), 400)
      assert.strictEqual(yield* status(headers), 200)
      assert.strictEqual(yield* status(headers, { id: 2, method: "boom" }), 200)
      assert.strictEqual(yield* status(headers), 404)
      const second = yield* open
      yield* server.forgetSessions
      assert.strictEqual(yield* status(second), 404)
      const third = yield* open
      const deleted = yield* Effect.promise(() => fetch(server.url, { method: "DELETE", headers: third }))
      assert.strictEqual(deleted.status, 200)
      assert.strictEqual(yield* status(third), 404)
    })
  )

  it.scopedLive("breaks off a response, and completes it when the stream is resumed", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        rules: [
          { on: "ping", nth: 1, do: [event({ id: "e1", retry: 5 }), close] },
          { on: "ping", nth: 2, do: [head({ sse: true }), write("data: {"), ScriptedServer.reset] },
          { on: "GET", do: [head({ sse: true }), answer(), close] }
        ]
      })
      const lost = yield* post(server.url, ping)
      assert.strictEqual(lost.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(yield* bodyOf(lost), "id: e1\nretry: 5\ndata: \n\n")
      const resumed = yield* Effect.promise(() => fetch(server.url, { headers: { "last-event-id": "e1" } }))
      assert.strictEqual(yield* bodyOf(resumed), 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
      const broken = yield* post(server.url, ping)
      yield* failureOf(() => broken.text())
    })
  )

  it.scopedLive("keeps GET streams open, pushes messages to them, and closes them", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        rules: [
          { on: "GET", nth: 1, do: [head({ sse: true })] },
          { on: "GET", nth: 2, do: [head({ sse: true }), sleep(20), close] }
        ]
      })
      assert.strictEqual(yield* server.push({ method: "a" }), 0)
      const get = Effect.promise(() => fetch(server.url))
      const stream = yield* get
      assert.strictEqual(yield* server.push({ method: "notifications/tools/list_changed" }), 1)
      const reader = stream.body!.getReader()
      const { value } = yield* Effect.promise(() => reader.read())
      assert.include(new TextDecoder().decode(value), "notifications/tools/list_changed")
      yield* server.resetConnections
      yield* failureOf(() => reader.read())
      assert.strictEqual(yield* bodyOf(yield* get), "")
      assert.strictEqual((yield* get).status, 405)
    })
  )

  it.scopedLive("sends a request on the stream of a response", () =>
    Effect.gen(function* () {
      const { url } = yield* ScriptedServer.http({
        tools: ["a"],
        rules: [
          {
            on: "tools/call",
            do: [
              progress(1),
              ScriptedServer.ask("elicitation/create", {
                mode: "form",
                message: "?",
                requestedSchema: { type: "object", properties: {} }
              }),
              answer({ content: [], structuredContent: ScriptedServer.answerOfClient })
            ]
          }
        ]
      })
      const options = { ...legacy, capabilities: { elicitation: { form: {} } } }
      const client = yield* connect(new StreamableHTTPClientTransport(new URL(url)), options)
      client.setRequestHandler("elicitation/create", () => ({ action: "decline" }))
      const result = yield* Effect.promise(() => client.callTool({ name: "a" }))
      assert.deepInclude(result.structuredContent, { result: { action: "decline" } })
    })
  )

  it.scopedLive("compresses responses and sends them byte by byte", () =>
    Effect.gen(function* () {
      const { url } = yield* ScriptedServer.http({
        rules: [
          { on: "ping", nth: 1, do: [head({ gzip: true }), answer()] },
          { on: "ping", nth: 2, do: [head({ sse: true, chunk: 1 }), answer({ text: "ä" })] },
          { on: "ping", nth: 3, do: [head({ sse: true, gzip: true, chunk: 1 }), answer()] }
        ]
      })
      const zipped = yield* post(url, ping)
      assert.strictEqual(zipped.headers.get("content-encoding"), "gzip")
      assert.strictEqual(yield* bodyOf(zipped), '{"jsonrpc":"2.0","id":1,"result":{}}')
      const slow = yield* post(url, ping)
      let chunks = 0
      let text = ""
      const decoder = new TextDecoder()
      yield* Effect.promise(async () => {
        for await (const chunk of slow.body!) {
          chunks++
          text += decoder.decode(chunk, { stream: true })
        }
      })
      assert.include(text, '"text":"ä"')
      assert.isAbove(chunks, 1)
      assert.include(yield* bodyOf(yield* post(url, ping)), '"result":{}')
    })
  )

  it.scopedLive("never responds, until its scope closes all connections", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const server = yield* Scope.extend(ScriptedServer.http({ rules: [{ on: "ping", do: [] }] }), scope)
      const waiting = yield* Effect.fork(
        failureOf(() => fetch(server.url, { method: "POST", body: JSON.stringify(ping) }))
      )
      const seen = yield* server.awaitRequest(({ method }) => method === "POST")
      assert.deepInclude(seen, { path: "/mcp", body: ping })
      assert.isNull(waiting.unsafePoll())
      yield* Scope.close(scope, Exit.void)
      yield* waiting
      yield* failureOf(() => fetch(server.url))
    })
  )
})
