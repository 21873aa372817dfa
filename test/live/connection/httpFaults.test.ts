import { gzipSync } from "node:zlib"
import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import {
  type Answer,
  event,
  failure,
  isCall,
  json,
  legacy,
  result,
  serve,
  status,
  stream,
  text
} from "../support/rawHttp.js"
import { assertTag } from "../../support/assertTag.js"
import { live } from "../support/live.js"
import { connect, eventually, textOf } from "../support/session.js"

/** A server that responds to every call in one way. */
const calling = (answer: Answer) =>
  Effect.gen(function* () {
    const server = yield* serve(
      legacy((received, response, request) => {
        if (!isCall(received)) return false
        answer(received, response, request)
        return true
      })
    )
    const session = yield* connect({ url: server.url })
    return { server, session, call: Effect.flip(session.callTool("any")) }
  })

describe("calls over HTTP", () => {
  live(
    "fail at once if the response ends too early",
    Effect.gen(function* () {
      const { call } = yield* calling((_, response) => void stream(response).end(": nothing\n\n"))
      assertTag(assertTag(yield* call, "OutcomeUnknown").cause, "ConnectionClosed")
    })
  )

  live(
    "fail at once if the connection is reset during the response",
    Effect.gen(function* () {
      for (const type of ["text/event-stream", "application/json"]) {
        const { call } = yield* calling((_, response) => {
          response.writeHead(200, { "content-type": type })
          response.write('data: {"jsonrpc":', () => response.destroy())
        })
        assertTag(assertTag(yield* call, "OutcomeUnknown").cause, "ConnectionClosed")
      }
      const { call } = yield* calling((_, response) => void response.destroy())
      assertTag(assertTag(yield* call, "OutcomeUnknown").cause, "NetworkFailed")
    })
  )

  live(
    "resume a response with event ids where it broke off, after the server's retry time",
    Effect.gen(function* () {
      let call: Parameters<Answer>[0] | undefined
      const server = yield* serve(
        legacy((received, response) => {
          if (isCall(received)) {
            call = received
            stream(response).end("id: 7\nretry: 20\ndata:\n\n")
            return true
          }
          if (received.method !== "GET" || received.headers["last-event-id"] === undefined) return false
          stream(response).end(event(result(call!, text(`after ${received.headers["last-event-id"]}`))))
          return true
        })
      )
      const session = yield* connect({ url: server.url })
      assert.strictEqual(textOf(yield* session.callTool("any")), "after 7")
    })
  )

  live(
    "fail with different errors for different statuses",
    Effect.gen(function* () {
      const answers: ReadonlyArray<readonly [number, Record<string, string>]> = [
        [429, { "retry-after": "7" }],
        [503, { "retry-after": "3" }],
        [413, {}],
        [403, { "www-authenticate": 'Bearer error="insufficient_scope", scope="admin"' }]
      ]
      let next = 0
      const { call, session } = yield* calling((_, response) => {
        const [code, headers] = answers[next]!
        next += 1
        status(response, code, headers)
      })
      assert.strictEqual(assertTag(yield* call, "RateLimited").retryAfter, 7000)
      const { cause } = assertTag(yield* call, "OutcomeUnknown")
      assert.strictEqual(assertTag(cause, "HttpFailed").retryAfter, 3000)
      assertTag(yield* call, "NotSent")
      assert.strictEqual(assertTag(yield* call, "AuthRequired").scope, "admin")
      // none of these affects the connection
      yield* session.probe("5 seconds")
    })
  )

  live(
    "fail with the JSON-RPC error in the body of an error status",
    Effect.gen(function* () {
      const { call } = yield* calling((received, response) => void json(response, failure(received, -32602, "no"), 400))
      const { code, message } = assertTag(yield* call, "ProtocolError")
      assert.deepStrictEqual([code, message], [-32602, "no"])
    })
  )

  live(
    "fail as NotSent after a lost session, which ends the connection",
    Effect.gen(function* () {
      const { call, session } = yield* calling((_, response) => void status(response, 404))
      assertTag(yield* call, "NotSent")
      assertTag(yield* session.closed, "SessionLost")
    })
  )

  live(
    "do not end the connection after a 404 without a session",
    Effect.gen(function* () {
      const server = yield* serve(
        legacy((received, response) => {
          if (received.message.method === "initialize") {
            const greeting = {
              protocolVersion: "2025-06-18",
              capabilities: {},
              serverInfo: { name: "a", version: "1" }
            }
            json(response, result(received, greeting))
            return true
          }
          if (isCall(received)) status(response, 404)
          return isCall(received)
        })
      )
      const session = yield* connect({ url: server.url })
      assertTag(yield* Effect.flip(session.callTool("any")), "NotSent")
      yield* session.probe("5 seconds")
    })
  )

  live(
    "end the connection after a 401, because a login is required",
    Effect.gen(function* () {
      const { call, session } = yield* calling((_, response) => void status(response, 401))
      assertTag(yield* call, "AuthRequired")
      assertTag(yield* session.closed, "AuthRequired")
    })
  )

  live(
    "and probes fail at their timeouts if the server never responds",
    Effect.gen(function* () {
      let hole = false
      const server = yield* serve(legacy(() => hole))
      const session = yield* connect({ url: server.url })
      hole = true
      const error = yield* Effect.flip(session.callTool("any", {}, { idleTimeout: 200 }))
      assert.deepStrictEqual(assertTag(error, "CallTimeout").which, "idle")
      assertTag(yield* Effect.flip(session.probe("200 millis")), "HealthCheckFailed")
      assert.deepStrictEqual(server.seen().slice(-3), ["tools/call", "notifications/cancelled", "ping"])
    })
  )

  live(
    "are cancelled once if they are interrupted",
    Effect.gen(function* () {
      const { server, session } = yield* calling(() => {})
      const fiber = yield* Effect.fork(session.callTool("any"))
      yield* eventually(() => server.seen().includes("tools/call"))
      const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(took), 20_000)
      yield* eventually(() => server.seen().includes("notifications/cancelled"))
      const [call, cancel] = server.received.slice(-2)
      assert.strictEqual(cancel!.message.params!.requestId, call!.message.id)
      yield* session.probe("5 seconds")
    })
  )

  live(
    "receive 20 MB, as JSON and as a stream, compressed or not",
    Effect.gen(function* () {
      const big = "ü".repeat(10_000_000)
      const ways: ReadonlyArray<Answer> = [
        (received, response) => void json(response, result(received, text(big))),
        (received, response) => void stream(response).end(event(result(received, text(big)))),
        (received, response) => {
          const body = gzipSync(JSON.stringify(result(received, text(big))))
          response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(body)
        }
      ]
      for (const way of ways) {
        const { session } = yield* calling(way)
        assert.strictEqual(textOf(yield* session.callTool("any")), big)
      }
    }),
    180_000
  )

  live(
    "receive a response byte by byte, also within a character",
    Effect.gen(function* () {
      const { session } = yield* calling((received, response) => {
        const bytes = Buffer.from(event(result(received, text("größer ✓"))).replaceAll("\n", "\r\n"))
        stream(response)
        const write = (index: number): void => {
          if (index === bytes.length) return void response.end()
          response.write(bytes.subarray(index, index + 1), () => setImmediate(write, index + 1))
        }
        write(0)
      })
      assert.strictEqual(textOf(yield* session.callTool("any")), "größer ✓")
    })
  )

  live(
    "return although the stream stays open after the response",
    Effect.gen(function* () {
      const { session } = yield* calling(
        (received, response) => void stream(response).write(event(result(received, text("here"))))
      )
      assert.strictEqual(textOf(yield* session.callTool("any")), "here")
    })
  )

  live(
    "share a connection if they follow each other",
    Effect.gen(function* () {
      const server = yield* serve(legacy())
      const session = yield* connect({ url: server.url })
      for (let call = 0; call < 50; call += 1) yield* session.callTool("any")
      assert.isAtMost(server.connections(), 3)
    })
  )
})
