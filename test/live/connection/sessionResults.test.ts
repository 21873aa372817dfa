import { assert, describe } from "@effect/vitest"
import { Chunk, Effect, Exit, Fiber, type Scope, Stream } from "effect"
import type { RequestError, Session } from "../../../src/connection/Session.js"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { assertTag } from "../../support/assertTag.js"
import {
  asResult,
  deepHttp,
  deepStdio,
  isHttp,
  isModern,
  type Kind,
  kinds,
  live,
  liveFor,
  modern,
  scripted
} from "../support/kinds.js"
import { failure, isCall, json, legacy, type Received, result, serve, status } from "../support/rawHttp.js"
import { connect, eventually, textOf } from "../support/session.js"

const { answer, notify } = ScriptedServer

/** Checks that the session still works. */
const isUsable = (session: Session) =>
  Effect.map(session.callTool("echo"), (result) => assert.strictEqual(textOf(result), "echo"))

const toolOf = ({ message }: Received) => message.params?.name

describe("requests in flight over HTTP", () => {
  /** A server that never responds to the call of one tool, and rejects that of another with a status. */
  const server = (kind: Kind, code: number) => {
    const own = (received: Received, response: Parameters<typeof status>[0]) => {
      if (received.message.method === "tools/list") return true
      if (toolOf(received) === "refused") status(response, code)
      return isCall(received)
    }
    return serve(isModern(kind) ? modern(own) : legacy(own))
  }

  const cases = [
    ["legacy over HTTP", 404, "NotSent", "SessionLost"],
    ["legacy over HTTP", 401, "AuthRequired", "AuthRequired"],
    ["modern over HTTP", 401, "AuthRequired", "AuthRequired"]
  ] as const

  for (const [kind, code, refused, reason] of cases) {
    live(
      `fail as OutcomeUnknown when another call is rejected with ${code} (${kind})`,
      Effect.gen(function* () {
        const { received, url } = yield* server(kind, code)
        const session = yield* connect({ url })
        const requests: ReadonlyArray<Effect.Effect<unknown, RequestError>> = [
          session.callTool("held"),
          session.listTools
        ]
        const pending = yield* Effect.forEach(requests, (request) => Effect.fork(Effect.flip(request)))
        yield* eventually(
          () =>
            received.some((each) => toolOf(each) === "held") &&
            received.some(({ message }) => message.method === "tools/list")
        )
        assertTag(yield* Effect.flip(session.callTool("refused")), refused)
        for (const fiber of pending) {
          assertTag(assertTag(yield* Fiber.join(fiber), "OutcomeUnknown").cause, reason)
        }
        assertTag(yield* session.closed, reason)
        assert.include(["NotSent", "AuthRequired"], (yield* Effect.flip(session.callTool("late")))._tag)
        assert.isFalse(received.some((each) => toolOf(each) === "late"))
      })
    )
  }
})

describe("a request over HTTP that ends the connection", () => {
  for (const [code, refused] of [
    [404, "NotSent"],
    [401, "AuthRequired"]
  ] as const) {
    live(
      `fails with the error of ${code} if it is a list, like a call`,
      Effect.gen(function* () {
        const server = yield* serve(
          legacy(({ message }, response) => {
            if (message.method === "tools/list") status(response, code)
            return message.method === "tools/list"
          })
        )
        const session = yield* connect({ url: server.url })
        assertTag(yield* Effect.flip(session.listTools), refused)
      })
    )
  }
})

describe("values that are no JSON or nested too deep", () => {
  liveFor(kinds, "in arguments are not sent, and the connection stays", (kind) =>
    Effect.gen(function* () {
      const session = yield* connect(yield* scripted(kind, { tools: ["echo"] }))
      const cycle: Record<string, unknown> = {}
      cycle.self = cycle
      for (const value of [10n, cycle]) {
        assertTag(yield* Effect.flip(session.callTool("echo", { value })), "NotSent")
        assertTag(yield* Effect.flip(session.callTool("echo", {}, { meta: { value } })), "NotSent")
      }
      yield* isUsable(session)
    })
  )

  const deep = (kind: Kind): Effect.Effect<ServerConfig.Input, never, Scope.Scope> =>
    isHttp(kind) ? deepHttp(kind) : Effect.succeed(deepStdio(kind))

  const stillAnswers = (session: Session) =>
    Effect.map(session.callTool("any"), (result) => assert.strictEqual(textOf(result), "done"))

  liveFor(kinds, "in the data of an error (50,000 levels) are an error of the server", (kind) =>
    Effect.gen(function* () {
      const session = yield* connect(yield* deep(kind))
      const { code, message } = assertTag(yield* Effect.flip(session.callTool("error")), "ProtocolError")
      assert.deepStrictEqual([code, message], [-32000, "too deep"])
      yield* stillAnswers(session)
    })
  )

  liveFor(kinds, "in a log message (50,000 levels) are one line", (kind) =>
    Effect.gen(function* () {
      const lines: Array<Protocol.LogLine> = []
      const session = yield* connect(yield* deep(kind), { onLog: (line) => void lines.push(line) })
      assert.strictEqual(textOf(yield* session.callTool("log")), "done")
      yield* eventually(() => lines.length > 0)
      assert.isBelow(lines[0]!.text.length, 100_000)
      yield* stillAnswers(session)
    })
  )

  liveFor(kinds, "in a result (50,000 levels) arrive or are invalid", (kind) =>
    Effect.gen(function* () {
      const session = yield* connect(yield* deep(kind))
      const exit = yield* Effect.exit(session.callTool("structured"))
      if (Exit.isSuccess(exit)) assert.strictEqual(textOf(exit.value), "here")
      else assert.strictEqual(exit.cause._tag === "Fail" ? exit.cause.error._tag : exit.cause._tag, "InvalidResult")
      const error = yield* Effect.flip(session.callTool("whole"))
      assert.strictEqual(error._tag, "InvalidResult")
      yield* stillAnswers(session)
    })
  )
})

describe("a result", () => {
  const odd = {
    content: [
      { type: "text", text: "a", annotations: { audience: ["user"], mood: "good" }, _meta: { b: 2 }, extra: 1 },
      { type: "hologram", depth: 3, parts: [null, { x: 1 }] },
      { type: "image", data: "AAAA", mimeType: "image/png", alt: "nothing" },
      { type: "resource", resource: { uri: "a:b", text: "c", extra: [1] } }
    ],
    structuredContent: { n: 1, list: [null, { deep: true }], text: "ü" },
    _meta: { "example.com/trace": { id: 7 }, plain: [1, 2] },
    somethingNew: { a: { b: [1] } }
  }

  for (const isError of [undefined, false, true]) {
    const given = isError === undefined ? odd : { ...odd, isError }
    liveFor(kinds, `reaches the caller unchanged, with isError ${isError}`, (kind) =>
      Effect.gen(function* () {
        const rules = [{ on: "tools/call", do: [answer(asResult(kind, given))] }]
        const session = yield* connect(yield* scripted(kind, { tools: ["odd"], rules }))
        const { resultType: _, ...received } = (yield* session.callTool("odd")) as Record<string, unknown>
        assert.deepStrictEqual(received, given)
      })
    )
  }

  liveFor(kinds, "whose structured content is no object reaches the caller", (kind) =>
    Effect.gen(function* () {
      for (const structuredContent of [[1, 2], "text", 3, null]) {
        const given = { content: [], structuredContent }
        const rules = [{ on: "tools/call", do: [answer(asResult(kind, given))] }]
        const session = yield* connect(yield* scripted(kind, { tools: ["odd"], rules }))
        const received = yield* session.callTool("odd")
        assert.deepStrictEqual(received.structuredContent, structuredContent)
      }
    })
  )

  liveFor(kinds, "of a prompt or a resource reaches the caller unchanged", (kind) =>
    Effect.gen(function* () {
      const prompt = {
        description: "about it",
        messages: [
          { role: "user", content: { type: "hologram", depth: 3 }, extra: 1 },
          { role: "assistant", content: { type: "text", text: "a", extra: 2 } }
        ],
        _meta: { a: 1 },
        somethingNew: [1]
      }
      const resource = {
        contents: [{ uri: "a:b", text: "c", extra: { d: 1 }, _meta: { e: 2 } }],
        _meta: { a: 1 },
        somethingNew: [1]
      }
      const lasting = isModern(kind) ? { ttlMs: 0, cacheScope: "private" } : {}
      const rules = [
        { on: "prompts/get", do: [answer(asResult(kind, prompt))] },
        { on: "resources/read", do: [answer(asResult(kind, { ...resource, ...lasting }))] }
      ]
      const session = yield* connect(yield* scripted(kind, { prompts: ["p"], resources: ["a:b"], rules }))
      const read = (yield* session.readResource("a:b")) as Record<string, unknown>
      const { cacheScope: _, resultType: __, ttlMs: ___, ...contents } = read
      assert.deepStrictEqual(contents, resource)
      const { resultType: ____, ...messages } = (yield* session.getPrompt("p")) as Record<string, unknown>
      assert.deepStrictEqual(messages, prompt)
    })
  )

  liveFor(kinds, "that does not match the output schema reaches the caller", (kind) =>
    Effect.gen(function* () {
      const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
      const tool = { name: "typed", inputSchema: { type: "object" }, outputSchema }
      const results = [
        { content: [{ type: "text", text: "wrong" }], structuredContent: { n: "one" } },
        { content: [{ type: "text", text: "absent" }] },
        { content: [{ type: "text", text: "failed" }], isError: true }
      ]
      const rules = results.map((given, index) => ({
        on: "tools/call",
        nth: index + 1,
        do: [answer(asResult(kind, given))]
      }))
      const session = yield* connect(yield* scripted(kind, { tools: [tool], rules }))
      assert.deepStrictEqual((yield* session.listTools).items, [tool])
      for (const given of results) {
        const { resultType: _, ...received } = (yield* session.callTool("typed")) as Record<string, unknown>
        assert.deepStrictEqual(received, given)
      }
    })
  )
})

describe("log messages of the server", () => {
  const token = "tok-1234567890"

  liveFor(kinds, "have no secrets, neither in the stream nor in the callback", (kind) =>
    Effect.gen(function* () {
      const lines: Array<Protocol.LogLine> = []
      const say = (params: object) => notify("notifications/message", { level: "warning", ...params })
      const rules = [
        {
          on: "tools/call",
          do: [
            say({ logger: `for ${token}`, data: `using ${token} now` }),
            say({ data: { header: [`Bearer ${token}`], [token]: 1 } }),
            answer()
          ]
        }
      ]
      const server = yield* scripted(kind, { tools: ["echo"], rules })
      const secret = isHttp(kind) ? { headers: { "x-api-key": token } } : { env: { TOKEN: token } }
      const config = { ...server, ...secret } as ServerConfig.Input
      const session = yield* connect(config, { onLog: (line) => void lines.push(line) })
      yield* isUsable(session)
      const streamed = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(session.logs, 2)))
      for (const seen of [lines, streamed]) {
        assert.deepStrictEqual(
          seen.map(({ level, source }) => [level, source]),
          [
            ["warning", "server"],
            ["warning", "server"]
          ]
        )
        assert.match(seen[0]!.logger!, /^for ./)
        assert.match(seen[0]!.text, /^using .+ now$/)
        assert.match(seen[1]!.text, /"header"/)
        assert.notInclude(JSON.stringify(seen), token)
      }
    })
  )
})

describe("a call in the modern era over HTTP whose headers the server does not accept", () => {
  const mismatch = (received: Received, response: Parameters<typeof json>[0]) =>
    void json(response, failure(received, -32020, "headers do not match the body"), 400)

  const tool = {
    name: "any",
    inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } }
  }
  const listed = { resultType: "complete", tools: [tool], ttlMs: 0, cacheScope: "private" }

  /** A server that accepts a call if `accepts` returns true. */
  const picky = (accepts: (received: Received) => boolean) =>
    serve(
      modern((received, response) => {
        if (received.message.method === "tools/list") {
          json(response, result(received, listed))
          return true
        }
        if (!isCall(received) || accepts(received)) return false
        mismatch(received, response)
        return true
      })
    )

  const calls = (seen: ReadonlyArray<string>) => seen.filter((method) => method.startsWith("tools/"))

  live(
    "is repeated once after the tools were listed again, with the headers that they require",
    Effect.gen(function* () {
      const server = yield* picky(({ headers }) => headers["mcp-param-region"] === "north")
      const session = yield* connect({ url: server.url })
      assert.strictEqual(textOf(yield* session.callTool("any", { region: "north" })), "called")
      assert.deepStrictEqual(calls(server.seen()), ["tools/call", "tools/list", "tools/call"])
    })
  )

  live(
    "is not repeated again and again",
    Effect.gen(function* () {
      const server = yield* picky(() => false)
      const session = yield* connect({ url: server.url })
      const error = assertTag(yield* Effect.flip(session.callTool("any")), "ProtocolError")
      assert.strictEqual(error.code, -32020)
      assert.deepStrictEqual(calls(server.seen()), ["tools/call", "tools/list", "tools/call"])
    })
  )
})
