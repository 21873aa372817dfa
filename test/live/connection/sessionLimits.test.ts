import { randomUUID } from "node:crypto"
import type { ServerResponse } from "node:http"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import type { RequestError, Session } from "../../../src/connection/Session.js"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { assertTag } from "../../support/assertTag.js"
import { isHttp, kinds, live, liveFor, scripted } from "../support/kinds.js"
import { isCall, json, legacy, type Received, result, serve, status, stream } from "../support/rawHttp.js"
import { connect, eventually, groupOf, local, processesWith, textOf } from "../support/session.js"

const { answer, ask, progress, sleep } = ScriptedServer

const long = 60_000

const clock = (error: RequestError) => {
  const { after, which } = assertTag(error, "CallTimeout")
  return [which, after]
}

const withTimeout = (config: ServerConfig.Input, timeout: object) => ({ ...config, timeout }) as ServerConfig.Input

describe("each timeout ends its own requests, whatever the others are", () => {
  liveFor(kinds, "timeout.list: a list without a response", (kind) =>
    Effect.gen(function* () {
      const server = yield* scripted(kind, { tools: [], rules: [{ on: "tools/list", do: [] }] })
      const session = yield* connect(withTimeout(server, { connect: long, list: 300, call: long, total: long }))
      assert.deepStrictEqual(clock(yield* Effect.flip(session.listTools)), ["total", 300])
    })
  )

  liveFor(kinds, "timeout.list: all pages together, even if each one arrives in time", (kind) =>
    Effect.gen(function* () {
      const tools = Array.from({ length: 200 }, (_, index) => `tool-${index}`)
      const rules = [
        { on: "tools/list", do: [sleep(50), answer()] },
        { on: "tools/call", do: [answer({ content: [], resultType: "complete", received: ScriptedServer.received })] }
      ]
      const server = yield* scripted(kind, { tools, pageSize: 1, rules })
      const session = yield* connect(withTimeout(server, { connect: long, list: 2000, call: long, total: long }))
      assert.deepStrictEqual(clock(yield* Effect.flip(session.listTools)), ["total", 2000])
      const { received } = (yield* session.callTool("any")) as unknown as {
        readonly received: ReadonlyArray<{ readonly method?: string }>
      }
      assert.isAbove(received.filter(({ method }) => method === "tools/list").length, 2)
    })
  )

  liveFor(kinds, "timeout.call: a request without a sign of life", (kind) =>
    Effect.gen(function* () {
      const rules = ["tools/call", "resources/read", "prompts/get"].map((on) => ({ on, do: [] }))
      const server = yield* scripted(kind, { tools: ["a"], resources: ["a:b"], prompts: ["p"], rules })
      const session = yield* connect(withTimeout(server, { connect: long, list: long, call: 300, total: long }))
      const requests: ReadonlyArray<Effect.Effect<unknown, RequestError>> = [
        session.callTool("a"),
        session.readResource("a:b"),
        session.getPrompt("p")
      ]
      for (const request of requests) assert.deepStrictEqual(clock(yield* Effect.flip(request)), ["idle", 300])
    })
  )

  liveFor(kinds, "timeout.total: a request with endless progress, and one without any", (kind) =>
    Effect.gen(function* () {
      const steps = Array.from({ length: 100 }, (_, index) => [progress(index), sleep(50)]).flat()
      const rules = [
        { on: "tools/call", do: steps },
        { on: "resources/read", do: [] }
      ]
      const server = yield* scripted(kind, { tools: ["a"], resources: ["a:b"], rules })
      const session = yield* connect(withTimeout(server, { connect: long, list: long, call: 2000, total: 400 }))
      assert.deepStrictEqual(clock(yield* Effect.flip(session.callTool("a"))), ["total", 400])
      assert.deepStrictEqual(clock(yield* Effect.flip(session.readResource("a:b"))), ["total", 400])
    })
  )

  liveFor(kinds, "timeout.call: progress is a sign of life, also without a progress handler", (kind) =>
    Effect.gen(function* () {
      const steps = Array.from({ length: 10 }, (_, index) => [sleep(100), progress(index)]).flat()
      const server = yield* scripted(kind, { tools: ["a"], rules: [{ on: "tools/call", do: [...steps, answer()] }] })
      const session = yield* connect(withTimeout(server, { connect: long, list: long, call: 600, total: long }))
      assert.strictEqual(textOf(yield* session.callTool("a")), "a")
    })
  )
})

describe("while a language model is asked", () => {
  /** Longer than the timeouts of the pending requests. */
  const slow = Effect.as(Effect.sleep("1200 millis"), {
    role: "assistant" as const,
    content: { type: "text", text: "hm" },
    model: "m"
  })
  const params = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 10 }
  const asking = [ask("sampling/createMessage", params), answer()]
  const limits = { connect: long, list: 400, call: 400, total: 500 }

  for (const [on, request] of [
    ["tools/call", (session: Session) => session.callTool("a")],
    ["resources/read", (session: Session) => session.readResource("a:b")],
    ["prompts/get", (session: Session) => session.getPrompt("p")],
    ["tools/list", (session: Session) => session.listTools],
    ["resources/list", (session: Session) => session.listResources]
  ] as const) {
    liveFor(["legacy over stdio", "legacy over HTTP"], `the timeouts of ${on} are paused`, (kind) =>
      Effect.gen(function* () {
        const lists = { tools: ["a"], resources: ["a:b"], prompts: ["p"] }
        const server = yield* scripted(kind, { ...lists, rules: [{ on, do: asking }] })
        const session = yield* connect(withTimeout(server, limits), { handlers: { sample: () => slow } })
        yield* request(session) as Effect.Effect<unknown, RequestError>
      })
    )
  }

  liveFor(["legacy over stdio", "legacy over HTTP"], "the timeouts continue where they were paused", (kind) =>
    Effect.gen(function* () {
      const rules = [{ on: "tools/call", do: asking.slice(0, 1) }]
      const server = yield* scripted(kind, { tools: ["a"], rules })
      const session = yield* connect(withTimeout(server, limits), { handlers: { sample: () => slow } })
      assert.deepStrictEqual(clock(yield* Effect.flip(session.callTool("a"))), ["idle", 400])
    })
  )
})

describe("a message that is too long over HTTP", () => {
  const megabyte = Buffer.alloc(1024 * 1024, "x")

  /** Writes a megabyte at a time, as fast as it is read, until the reader closes or far too much is written. */
  const pour = (response: ServerResponse, chunk: Uint8Array, poured: (bytes: number) => void) => {
    let total = 0
    const more = () => {
      if (response.destroyed || total >= 512) return
      total += 1
      poured(total)
      if (response.write(chunk)) setImmediate(more)
      else response.once("drain", more)
    }
    more()
  }

  const ways: Readonly<Record<string, (received: Received, response: ServerResponse) => Uint8Array>> = {
    "one JSON": ({ message }, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[{"type":"text","text":"`)
      return megabyte
    },
    "one event of one line": (_, response) => {
      stream(response).write("data: ")
      return megabyte
    },
    "one event of many lines": (_, response) => {
      stream(response)
      return Buffer.from(`data: ${"x".repeat(1000)}\n`.repeat(1024))
    }
  }

  live(
    "fails its call with a typed error and is aborted; the connection stays",
    Effect.gen(function* () {
      for (const [name, way] of Object.entries(ways)) {
        let megabytes = 0
        let closed = false
        const own = (received: Received, response: ServerResponse) => {
          if (!isCall(received) || received.message.params?.name !== "endless") return false
          response.once("close", () => {
            closed = true
          })
          pour(response, way(received, response), (total) => {
            megabytes = total
          })
          return true
        }
        const { url } = yield* serve(legacy(own))
        const session = yield* connect({ url })
        const error = assertTag(yield* Effect.flip(session.callTool("endless")), "OutcomeUnknown")
        assert.include(assertTag(error.cause, "IncompatibleServer").detail, "bytes", name)
        yield* eventually(() => closed)
        assert.isAtLeast(megabytes, 32, name)
        assert.isBelow(megabytes, 100, name)
        assert.strictEqual(textOf(yield* session.callTool("any")), "called", name)
      }
    }),
    180_000
  )
})

describe("a server of the older transport", () => {
  live(
    "needs a login if its stream asks for one",
    Effect.gen(function* () {
      const server = yield* serve(({ method }, response) => void status(response, method === "GET" ? 401 : 405))
      assertTag(yield* Effect.flip(connect({ url: server.url })), "AuthRequired")
      assertTag(yield* Effect.flip(connect({ type: "sse", url: server.url })), "AuthRequired")
    })
  )
})

describe("the leftovers", () => {
  const sockets = () => process.getActiveResourcesInfo().filter((name) => /TCPSocket|Pipe/.test(name)).length

  live(
    "after 200 connections over HTTP are no session on the server and no socket",
    Effect.gen(function* () {
      const sessions = new Set<string>()
      let opened = 0
      const server = yield* serve(
        legacy((received, response) => {
          const id = String(received.headers["mcp-session-id"])
          if (received.method === "DELETE") sessions.delete(id)
          if (received.method === "GET") {
            // a stream that stays open until the client closes it
            stream(response).write(": hello\n\n")
            return true
          }
          if (received.message.method !== "initialize") return false
          opened += 1
          sessions.add(`session-${opened}`)
          const serverInfo = { name: "raw", version: "1.0.0" }
          const greeting = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }
          json(response, result(received, greeting), 200, { "mcp-session-id": `session-${opened}` })
          return true
        })
      )
      const cycle = Effect.scoped(
        Effect.flatMap(connect({ url: server.url, protocol: "legacy" }), (session) => session.callTool("any"))
      )
      for (let count = 0; count < 20; count += 1) yield* cycle
      const before = sockets()
      for (let count = 20; count < 200; count += 1) yield* cycle
      assert.strictEqual(opened, 200)
      assert.deepStrictEqual([...sessions], [])
      yield* eventually(() => sockets() <= before + 8)
    }),
    180_000
  )

  const stubborn = (mark: string) => local(mark, "ignore-eof", "ignore-term")

  live(
    "after a close that is interrupted twice are no process",
    Effect.gen(function* () {
      const mark = randomUUID()
      const opened = yield* Deferred.make<number>()
      const fiber = yield* connect(stubborn(mark)).pipe(
        Effect.tap(({ info }) => Deferred.succeed(opened, info.pid!)),
        Effect.zipRight(Effect.never),
        Effect.scoped,
        Effect.fork
      )
      const pid = yield* Deferred.await(opened)
      assert.deepStrictEqual(processesWith(mark), [pid])
      const first = yield* Effect.fork(Fiber.interrupt(fiber))
      const second = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* Fiber.interruptFork(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual([processesWith(mark), groupOf(pid)], [[], []])
    })
  )

  for (const [name, give] of [
    ["if the caller waits", Effect.timeoutOption("600 millis")],
    [
      "if the caller continues",
      <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.timeoutOption(Effect.disconnect(effect), "600 millis")
    ]
  ] as const) {
    live(
      `after a timeout during the close, ${name}, are no process`,
      Effect.gen(function* () {
        const mark = randomUUID()
        yield* give(Effect.scoped(connect(stubborn(mark))))
        yield* eventually(() => processesWith(mark).length === 0)
      })
    )
  }

  live(
    "after an attempt that is interrupted during its close are no process",
    Effect.gen(function* () {
      const mark = randomUUID()
      const fiber = yield* Effect.fork(Effect.scoped(connect(local(mark, "hang", "ignore-eof", "ignore-term"))))
      yield* eventually(() => processesWith(mark).length === 1)
      const first = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* Fiber.interrupt(fiber)
      yield* Fiber.join(first)
      assert.deepStrictEqual(processesWith(mark), [])
    })
  )
})

describe("a server that is killed while a large call is written", () => {
  liveFor(
    kinds.filter((kind) => !isHttp(kind)),
    "settles every call with a typed error, and causes no uncaught error",
    (kind) =>
      Effect.gen(function* () {
        const thrown: Array<unknown> = []
        const note = (error: unknown) => void thrown.push(error)
        yield* Effect.acquireRelease(
          Effect.sync(() => process.on("uncaughtException", note).on("unhandledRejection", note)),
          () => Effect.sync(() => process.off("uncaughtException", note).off("unhandledRejection", note))
        )
        const session = yield* connect(yield* scripted(kind, { tools: ["echo"] }))
        // it no longer reads: a pipe holds much less than a call
        process.kill(session.info.pid!, "SIGSTOP")
        const value = "x".repeat(1_000_000)
        const requests: ReadonlyArray<Effect.Effect<unknown, RequestError>> = [
          ...Array.from({ length: 5 }, () => session.callTool("echo", { value })),
          session.listTools
        ]
        const fibers = yield* Effect.forEach(requests, (request) => Effect.fork(Effect.exit(request)))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        process.kill(session.info.pid!, "SIGKILL")
        const exits = yield* Effect.forEach(fibers, Fiber.join)
        const tags = exits.map((exit) =>
          Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error._tag : "?"
        )
        assert.strictEqual(tags[0], "OutcomeUnknown")
        assert.deepStrictEqual(new Set(tags), new Set(["OutcomeUnknown", "NotSent"]))
        assert.strictEqual(assertTag(yield* session.closed, "ProcessExited").signal, "SIGKILL")
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        assert.deepStrictEqual(thrown, [])
      })
  )
})
