import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import type { ServerConfig } from "../../../src/index.js"
import { event, isCall, legacy, result, serve, status, stream } from "../support/rawHttp.js"
import { assertTag } from "../../support/assertTag.js"
import { live } from "../support/live.js"
import { connect, eventually, textOf } from "../support/session.js"

describe("the stream for server messages", () => {
  for (const code of [400, 404, 405, 406, 501]) {
    live(
      `is \`none\` after status ${code}, and nothing else changes`,
      Effect.gen(function* () {
        const server = yield* serve(
          legacy(({ method }, response) => {
            if (method === "GET") status(response, code)
            return method === "GET"
          })
        )
        const session = yield* connect({ url: server.url })
        yield* eventually(() => server.seen().includes("GET"))
        assert.strictEqual(textOf(yield* session.callTool("any")), "called")
        assert.strictEqual(yield* session.push, "none")
      })
    )
  }

  live(
    "is degraded if it fails or is closed again and again, and nothing else changes",
    Effect.gen(function* () {
      let streams = 0
      const server = yield* serve(
        legacy(({ method }, response) => {
          if (method !== "GET") return false
          streams += 1
          if (streams === 1) stream(response).end("retry: 10\n\n")
          else status(response, 503)
          return true
        })
      )
      const session = yield* connect({ url: server.url })
      yield* eventually(() => streams > 1)
      assert.strictEqual(yield* session.push, "degraded")
      assert.strictEqual(textOf(yield* session.callTool("any")), "called")
    })
  )
})

describe("closing", () => {
  live(
    "ends the session on the server, without waiting for a server that does not respond",
    Effect.gen(function* () {
      for (const answers of [true, false]) {
        const server = yield* serve(legacy(({ method }) => method === "DELETE" && !answers))
        const scope = yield* Scope.make()
        yield* connect({ url: server.url }).pipe(Scope.extend(scope))
        const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
        assert.strictEqual(server.received.at(-1)!.headers["mcp-session-id"], "session-1")
        assert.strictEqual(server.received.at(-1)!.method, "DELETE")
        assert.isBelow(Duration.toMillis(took), 15_000)
      }
    })
  )

  live(
    "settles pending calls",
    Effect.gen(function* () {
      const server = yield* serve(legacy(isCall))
      const scope = yield* Scope.make()
      const session = yield* connect({ url: server.url }).pipe(Scope.extend(scope))
      const fiber = yield* Effect.fork(Effect.flip(session.callTool("any")))
      yield* eventually(() => server.seen().includes("tools/call"))
      yield* Scope.close(scope, Exit.void)
      assertTag(yield* Fiber.join(fiber), "OutcomeUnknown")
    })
  )
})

describe("the older transport", () => {
  const sse = (url: string): ServerConfig.Input => ({ type: "sse", url })

  live(
    "ends with its stream",
    Effect.gen(function* () {
      let end = () => {}
      const server = yield* serve((received, response) => {
        if (received.method === "GET") {
          stream(response).write("event: endpoint\ndata: /messages?session=1\n\n")
          end = () => void response.end()
          answer = (message) => void response.write(event(message))
          return
        }
        status(response, 202)
        if (received.message.method === "initialize") {
          const capabilities = { tools: {} }
          const serverInfo = { name: "older", version: "1" }
          answer(result(received, { protocolVersion: "2024-11-05", capabilities, serverInfo }))
        }
      })
      let answer = (_: unknown) => {}
      const session = yield* connect(sse(server.url))
      assert.deepStrictEqual([session.info.transport, session.info.protocolVersion], ["sse", "2024-11-05"])
      const fiber = yield* Effect.fork(Effect.flip(session.callTool("any")))
      yield* eventually(() => server.seen().includes("tools/call"))
      end()
      assertTag(assertTag(yield* Fiber.join(fiber), "OutcomeUnknown").cause, "ConnectionClosed")
      assertTag(yield* session.closed, "ConnectionClosed")
    })
  )

  live(
    "does not send messages to another origin",
    Effect.gen(function* () {
      const server = yield* serve(
        (_, response) => void stream(response).write("event: endpoint\ndata: http://127.0.0.1:1/messages\n\n")
      )
      assertTag(yield* Effect.flip(connect(sse(server.url))), "IncompatibleServer")
    })
  )
})
