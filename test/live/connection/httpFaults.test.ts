import { readFileSync } from "node:fs"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, connect as dial, createServer as createTcpServer } from "node:net"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import type { ServerConfig } from "../../../src/index.js"
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

/** A server that answers every call in one way. */
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

describe("the way to a remote server", () => {
  for (const code of [400, 404, 405]) {
    live(
      `pain 57: a greeting that is answered ${code} falls back to SSE, and both causes are kept`,
      Effect.gen(function* () {
        const server = yield* serve(({ method }, response) => status(response, method === "GET" ? 418 : code))
        const error = assertTag(yield* Effect.flip(connect({ url: server.url })), "HttpFailed")
        assert.strictEqual(error.status, code)
        assert.include(error.message, "418")
        assert.deepStrictEqual(server.seen(), ["server/discover", "initialize", "GET"])
      })
    )
  }

  for (const code of [401, 403, 429, 500, 502, 503]) {
    live(
      `pain 57: one that is answered ${code} does not`,
      Effect.gen(function* () {
        const server = yield* serve((_, response) => status(response, code))
        const error = yield* Effect.flip(connect({ url: server.url }))
        if (code === 401) assertTag(error, "AuthRequired")
        else assert.strictEqual(assertTag(error, "HttpFailed").status, code)
        assert.notInclude(server.seen(), "GET")
      })
    )
  }

  live(
    "pain 57: a type of http does not fall back, one of sse dials SSE at once",
    Effect.gen(function* () {
      const server = yield* serve((_, response) => status(response, 404))
      yield* Effect.flip(connect({ type: "http", url: server.url }))
      assert.notInclude(server.seen(), "GET")
      server.received.length = 0
      yield* Effect.flip(connect({ type: "sse", url: server.url }))
      assert.deepStrictEqual(server.seen(), ["GET"])
    })
  )

  live(
    "pain 57: nobody there is told as such",
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(serve(legacy()))
      const { code, permanent } = assertTag(yield* Effect.flip(connect({ url })), "NetworkFailed")
      assert.deepStrictEqual([code, permanent], ["ECONNREFUSED", false])
    })
  )

  live(
    "pain 60: what a 401 and a 403 ask for is kept",
    Effect.gen(function* () {
      let code = 401
      const server = yield* serve((_, response) =>
        status(response, code, {
          "www-authenticate": 'Bearer error="insufficient_scope", scope="files:read files:write"'
        })
      )
      for (code of [401, 403]) {
        const { login, scope } = assertTag(yield* Effect.flip(connect({ url: server.url })), "AuthRequired")
        assert.deepStrictEqual([login, scope], [true, "files:read files:write"])
      }
      assert.isFalse(assertTag(yield* Effect.flip(connect({ url: server.url, oauth: false })), "AuthRequired").login)
    })
  )

  live(
    "a redirect on the server itself is followed, one to another is not, and gets no credentials",
    Effect.gen(function* () {
      const elsewhere = yield* serve(legacy())
      const server = yield* serve((received, response) => {
        if (received.url === "/mcp") return void status(response, 307, { location: "/moved" })
        legacy()(received, response, undefined as never)
      })
      const session = yield* connect({ url: server.url, headers: { "X-Key": "k-123456" } })
      assert.strictEqual(textOf(yield* session.callTool("any")), "called")
      const away = yield* serve((_, response) => status(response, 307, { location: elsewhere.url }))
      const error = assertTag(
        yield* Effect.flip(connect({ type: "http", url: away.url, headers: { "X-Key": "k-123456" } })),
        "HttpFailed"
      )
      assert.include(error.detail, elsewhere.url)
      assert.deepStrictEqual(elsewhere.received, [])
    })
  )

  live(
    "something that is no MCP server is told as such",
    Effect.gen(function* () {
      const server = yield* serve((_, response) => status(response, 200, { "content-type": "text/html" }, "<html>"))
      assertTag(yield* Effect.flip(connect({ url: server.url })), "IncompatibleServer")
    })
  )

  live(
    "one that never answers fails at its connect limit and may be interrupted at any moment",
    Effect.gen(function* () {
      const server = yield* serve(() => {})
      const error = yield* Effect.flip(connect({ url: server.url, timeout: { connect: 400 } }))
      assert.deepStrictEqual(assertTag(error, "ConnectTimeout").after, 400)
      const fiber = yield* Effect.fork(connect({ url: server.url }))
      yield* eventually(() => server.received.length > 2)
      const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(took), 3000)
    })
  )

  live(
    "pain 61: a server that does not answer the question of newer ones gets the older greeting",
    Effect.gen(function* () {
      const server = yield* serve(legacy(({ message }) => message.method === "server/discover"))
      const session = yield* connect({ url: server.url, timeout: { connect: 1000 } })
      assert.strictEqual(session.info.era, "legacy")
    })
  )
})

describe("calls over HTTP", () => {
  live(
    "pain 11: an answer that ends too early fails at once",
    Effect.gen(function* () {
      const { call } = yield* calling((_, response) => void stream(response).end(": nothing\n\n"))
      assertTag(assertTag(yield* call, "OutcomeUnknown").cause, "ConnectionClosed")
    })
  )

  live(
    "pains 11 and 20: a connection that is reset in the middle of an answer fails at once",
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
    "pain 59: an answer with event ids is asked for where it broke off, after the time the server names",
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
    "pain 60: statuses are told apart",
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
      // none of these says anything about the connection
      yield* session.probe("5 seconds")
    })
  )

  live(
    "an error that comes with a status is the server's own answer",
    Effect.gen(function* () {
      const { call } = yield* calling((received, response) => void json(response, failure(received, -32602, "no"), 400))
      const { code, message } = assertTag(yield* call, "ProtocolError")
      assert.deepStrictEqual([code, message], [-32602, "no"])
    })
  )

  live(
    "pain 60: a forgotten session ends the connection; the call was not executed",
    Effect.gen(function* () {
      const { call, session } = yield* calling((_, response) => void status(response, 404))
      assertTag(yield* call, "NotSent")
      assertTag(yield* session.closed, "SessionLost")
    })
  )

  live(
    "pain 60: a 404 without a session is no forgotten one",
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
    "pain 60: a 401 ends the connection: it is not connected, it needs a login",
    Effect.gen(function* () {
      const { call, session } = yield* calling((_, response) => void status(response, 401))
      assertTag(yield* call, "AuthRequired")
      assertTag(yield* session.closed, "AuthRequired")
    })
  )

  live(
    "pain 15: a black hole fails calls and probes at their limits",
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
    "pain 18: an interrupted call is cancelled once",
    Effect.gen(function* () {
      const { server, session } = yield* calling(() => {})
      const fiber = yield* Effect.fork(session.callTool("any"))
      yield* eventually(() => server.seen().includes("tools/call"))
      const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(took), 3000)
      yield* eventually(() => server.seen().includes("notifications/cancelled"))
      const [call, cancel] = server.received.slice(-2)
      assert.strictEqual(cancel!.message.params!.requestId, call!.message.id)
      yield* session.probe("5 seconds")
    })
  )

  live(
    "pain 28: 20 MB arrive whole, as JSON and as a stream, compressed or not",
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
    60_000
  )

  live(
    "one byte at a time, also in the middle of a character",
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
    "a stream that stays open after the answer does not keep the call waiting",
    Effect.gen(function* () {
      const { session } = yield* calling(
        (received, response) => void stream(response).write(event(result(received, text("here"))))
      )
      assert.strictEqual(textOf(yield* session.callTool("any")), "here")
    })
  )

  live(
    "calls one after another share a connection",
    Effect.gen(function* () {
      const server = yield* serve(legacy())
      const session = yield* connect({ url: server.url })
      for (let call = 0; call < 50; call += 1) yield* session.callTool("any")
      assert.isAtMost(server.connections(), 3)
    })
  )
})

describe("the stream for what a server says unasked", () => {
  for (const code of [400, 404, 405, 406, 501]) {
    live(
      `pain 58: one that is answered ${code} is none, and nothing else changes`,
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
    "pains 58 and 59: one that fails or is closed again and again is degraded, and nothing else changes",
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
    "pain 21: the session is ended on the server, and one that does not answer is not waited for",
    Effect.gen(function* () {
      for (const answers of [true, false]) {
        const server = yield* serve(legacy(({ method }) => method === "DELETE" && !answers))
        const scope = yield* Scope.make()
        yield* connect({ url: server.url }).pipe(Scope.extend(scope))
        const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
        assert.strictEqual(server.received.at(-1)!.headers["mcp-session-id"], "session-1")
        assert.strictEqual(server.received.at(-1)!.method, "DELETE")
        assert.isBelow(Duration.toMillis(took), 2000)
      }
    })
  )

  live(
    "settles what is pending",
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
    "does not send messages to another server",
    Effect.gen(function* () {
      const server = yield* serve(
        (_, response) => void stream(response).write("event: endpoint\ndata: http://127.0.0.1:1/messages\n\n")
      )
      assertTag(yield* Effect.flip(connect(sse(server.url))), "IncompatibleServer")
    })
  )
})

describe("pain 54", () => {
  const file = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

  const secure = Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createSecureServer({
        key: readFileSync(file("server.key")),
        cert: readFileSync(file("server.pem"))
      })
      server.on("request", (request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => void chunks.push(chunk))
        request.on("end", () => {
          const body = Buffer.concat(chunks).toString()
          const received = {
            method: request.method!,
            url: "",
            headers: {},
            message: body === "" ? {} : JSON.parse(body)
          }
          legacy()(received, response, request)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ url: `https://localhost:${(server.address() as AddressInfo).port}/mcp`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

  live(
    "a private certificate is trusted if the config says so, and only then",
    Effect.gen(function* () {
      const { url } = yield* secure
      assert.isTrue(assertTag(yield* Effect.flip(connect({ url })), "NetworkFailed").permanent)
      const session = yield* connect({ url, caFile: file("ca.pem") })
      assert.strictEqual(textOf(yield* session.callTool("any")), "called")
      const error = yield* Effect.flip(connect({ url, caFile: file("no-such.pem") }))
      assert.include(assertTag(error, "NetworkFailed").detail, "caFile")
    })
  )

  live(
    "a proxy of the environment is used, except for what it leaves out",
    Effect.gen(function* () {
      const server = yield* serve(legacy())
      const asked: Array<string> = []
      const proxy = yield* Effect.acquireRelease(
        Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
          const tcp = createTcpServer((client) => {
            client.on("error", () => {})
            client.once("data", (head) => {
              asked.push(head.toString().split(" ", 2)[1]!)
              const target = dial(Number(new URL(server.url).port), "127.0.0.1", () => {
                client.write("HTTP/1.1 200 OK\r\n\r\n")
                client.pipe(target)
                target.pipe(client)
              })
              target.on("error", () => client.destroy())
              client.on("close", () => target.destroy())
            })
          })
          tcp.listen(0, "127.0.0.1", () => {
            const close = () => void tcp.close()
            resume(Effect.succeed({ url: `http://127.0.0.1:${(tcp.address() as AddressInfo).port}`, close }))
          })
        }),
        ({ close }) => Effect.sync(close)
      )
      const { HTTP_PROXY } = process.env
      process.env.HTTP_PROXY = proxy.url
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          if (HTTP_PROXY === undefined) delete process.env.HTTP_PROXY
          else process.env.HTTP_PROXY = HTTP_PROXY
        })
      )
      const session = yield* connect({ url: "http://mcp.test/mcp" })
      assert.strictEqual(textOf(yield* session.callTool("any")), "called")
      assert.deepStrictEqual(new Set(asked), new Set(["mcp.test:80"]))
      const count = asked.length
      yield* connect({ url: server.url })
      assert.strictEqual(asked.length, count)
    })
  )
})
