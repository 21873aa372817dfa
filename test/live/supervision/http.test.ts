import type { ServerResponse } from "node:http"
import { connect } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import * as Raw from "../support/rawHttp.js"
import { textOf } from "../support/session.js"
import {
  awaitStatus,
  changesUntil,
  countOf,
  live,
  namesOf,
  serveAt,
  superviseSettled,
  withTools
} from "../support/supervised.js"

const readOnly = { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }

/** A server that knows only its own sessions, like one that was just started. */
const withSession = (
  session: string,
  own: (received: Raw.Received, response: ServerResponse) => boolean = () => false
): Raw.Answer =>
  withTools(["echo", readOnly], (received, response) => {
    const given = received.headers["mcp-session-id"]
    if (received.message.method === "initialize") {
      const info = { name: session, version: "1.0.0" }
      const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: info }
      Raw.json(response, Raw.result(received, result), 200, { "mcp-session-id": session })
      return true
    }
    if (given !== undefined && given !== session) {
      Raw.status(response, 404)
      return true
    }
    return own(received, response)
  })

/** Waits until nothing listens on the port. By then, connected clients have noticed, too. */
const refused = (port: number) =>
  Effect.async<void>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("error", () => resume(Effect.void))
  })

/** Serves until the returned effect runs. */
const serveUntil = (port: number, answer: Raw.Answer) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const server = yield* Scope.extend(serveAt(port, answer), scope)
    return { ...server, stop: Effect.zipRight(Scope.close(scope, Exit.void), refused(server.port)) }
  })

const quickly = { restart: { base: 20, cap: 50 } }

describe.concurrent("an HTTP server that restarts", () => {
  live(
    "between two calls lets the next call succeed at the first try",
    Effect.gen(function* () {
      const first = yield* serveUntil(0, withSession("one"))
      const supervisor = yield* superviseSettled({ it: { url: first.url, ...quickly } })
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      yield* first.stop
      const second = yield* serveAt(first.port, withSession("two"))
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      assert.strictEqual(countOf(second.received, "initialize"), 1)
      const greeting = second.received.find(({ message }) => message.method === "initialize")
      assert.isUndefined(greeting?.headers["mcp-session-id"])
      assert.strictEqual((yield* supervisor.server("it")).serverInfo?.name, "two")
    })
  )

  live(
    "without sessions needs no new handshake",
    Effect.gen(function* () {
      const sessionless: Raw.Answer = withTools(["echo"], (received, response) => {
        if (received.message.method !== "initialize") return false
        const serverInfo = { name: "plain", version: "1.0.0" }
        Raw.json(
          response,
          Raw.result(received, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo })
        )
        return true
      })
      const first = yield* serveUntil(0, sessionless)
      const supervisor = yield* superviseSettled({ it: { url: first.url, ...quickly } })
      yield* supervisor.callTool("it_echo")
      yield* first.stop
      const second = yield* serveAt(first.port, sessionless)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      assert.strictEqual(countOf(second.received, "initialize"), 0)
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
    })
  )

  live(
    "during calls makes an unsafe one OutcomeUnknown and repeats a safe one",
    Effect.gen(function* () {
      let current = withSession("one", (received, response) => {
        if (!Raw.isCall(received)) return false
        held.push(response)
        if (held.length === 2) restart()
        return true
      })
      const held: Array<ServerResponse> = []
      const restart = () => {
        current = withSession("two")
        for (const response of held) response.socket?.destroy()
      }
      const server = yield* serveAt(0, (received, response, request) => current(received, response, request))
      const supervisor = yield* superviseSettled({ it: { url: server.url, ...quickly } })
      const [unsafe, safe] = yield* Effect.all(
        [Effect.flip(supervisor.callTool("it_echo")), supervisor.callTool("it_read")],
        { concurrency: 2 }
      )
      assert.strictEqual(unsafe._tag, "OutcomeUnknown")
      assert.strictEqual(textOf(safe), "called")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      assert.strictEqual(countOf(server.received, "initialize"), 2)
      // the lost call and the current one: the lost one was never repeated
      const echoes = server.received.filter((each) => Raw.isCall(each) && each.message.params?.name === "echo")
      assert.isAtMost(echoes.length, 3)
    })
  )

  live(
    "makes a safe call OutcomeUnknown if it cannot be repeated",
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const first = yield* serveUntil(
        0,
        withSession("one", (received) => {
          if (!Raw.isCall(received)) return false
          Deferred.unsafeDone(asked, Effect.void)
          return true
        })
      )
      const supervisor = yield* superviseSettled({ it: { url: first.url, ...quickly } })
      const call = yield* Effect.fork(Effect.flip(supervisor.callTool("it_read", {}, { waitForReady: 500 })))
      yield* Deferred.await(asked)
      yield* first.stop
      assert.strictEqual((yield* Fiber.join(call))._tag, "OutcomeUnknown")
    })
  )

  live(
    "after a longer time is failed, and reconnected when it is back",
    Effect.gen(function* () {
      const first = yield* serveUntil(0, withSession("one"))
      const supervisor = yield* superviseSettled({
        it: { url: first.url, ...quickly, health: { interval: 50, timeout: 200 } }
      })
      const { since } = yield* awaitStatus(supervisor, "it", "connected")
      yield* first.stop
      yield* awaitStatus(supervisor, "it", "failed", ({ failures }) => failures >= 2)
      yield* serveAt(first.port, withSession("two"))
      const changes = yield* changesUntil(supervisor, "it", (to) => to.status === "connected" && to.since > since)
      const names = namesOf(changes)
      assert.deepStrictEqual(names.slice(0, 4), ["connecting", "connected", "connecting", "failed"])
      assert.strictEqual(names.at(-1), "connected")
    })
  )
})

describe.concurrent("an HTTP server that forgets its sessions", () => {
  live(
    "gets one new handshake for ten concurrent calls, which all succeed",
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        sessions: true,
        tools: ["echo"],
        resources: ["file:///a"],
        prompts: ["hello"]
      })
      const supervisor = yield* superviseSettled({ it: { url: server.url, ...quickly } })
      yield* supervisor.callTool("it_echo")
      const before = (yield* server.requests).length
      yield* server.forgetSessions
      const results = yield* Effect.forEach(Array.from({ length: 10 }), () => supervisor.callTool("it_echo"), {
        concurrency: 10
      })
      assert.deepStrictEqual(results.map(textOf), Array(10).fill("echo"))
      const later = (yield* server.requests).slice(before)
      const of = (method: string) =>
        later.filter(({ body }) => (body as { method?: string } | undefined)?.method === method)
      assert.lengthOf(of("initialize"), 1)
      assert.isUndefined(of("initialize")[0]!.headers["mcp-session-id"])
      for (const list of ["tools/list", "resources/list", "prompts/list"]) assert.lengthOf(of(list), 1, list)
      assert.strictEqual((yield* supervisor.server("it")).generation, 2)
    })
  )

  live(
    "does not lose the new session by a late response for the old one",
    Effect.gen(function* () {
      let known = "one"
      const late: Array<ServerResponse> = []
      const server = yield* serveAt(
        0,
        withTools(["echo", readOnly], (received, response) => {
          const given = received.headers["mcp-session-id"]
          if (received.message.method === "initialize") {
            const serverInfo = { name: "it", version: "1.0.0" }
            const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }
            Raw.json(response, Raw.result(received, result), 200, { "mcp-session-id": known })
            return true
          }
          if (given === undefined || given === known) return false
          // one call is rejected at once, the others when there is already a new session
          if (Raw.isCall(received) && received.message.params?.name === "read") late.push(response)
          else Raw.status(response, 404)
          return true
        })
      )
      const supervisor = yield* superviseSettled({ it: { url: server.url, ...quickly } })
      known = "two"
      const slow = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.fork(supervisor.callTool("it_read")))
      yield* awaitCalls(server.received, 5)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      for (const response of late) Raw.status(response, 404)
      const results = yield* Fiber.joinAll(slow)
      assert.deepStrictEqual(results.map(textOf), Array(5).fill("called"))
      assert.strictEqual(countOf(server.received, "initialize"), 2)
      assert.strictEqual((yield* supervisor.server("it")).generation, 2)
    })
  )

  live(
    "has not lost a session if it answers 404 without one",
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        tools: ["echo", "gone"],
        rules: [{ on: "tools/call", where: { name: "gone" }, do: ScriptedServer.respond(404) }]
      })
      const supervisor = yield* superviseSettled({ it: { url: server.url, ...quickly } })
      const error = yield* Effect.flip(supervisor.callTool("it_gone"))
      assert.include(["ProtocolError", "NotSent", "OutcomeUnknown"], error._tag)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "echo")
      const greetings = (yield* server.requests).filter(
        ({ body }) => (body as { method?: string } | undefined)?.method === "initialize"
      )
      assert.lengthOf(greetings, 1)
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
    })
  )
})

const awaitCalls = (received: ReadonlyArray<Raw.Received>, count: number) =>
  Effect.iterate(0, {
    while: (seen) => seen < count,
    body: () =>
      Effect.delay(
        Effect.sync(() => received.filter(Raw.isCall).length),
        "5 millis"
      )
  })
