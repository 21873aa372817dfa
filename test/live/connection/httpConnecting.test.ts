import { readFileSync } from "node:fs"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, connect as dial, createServer as createTcpServer } from "node:net"
import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { legacy, serve, status } from "../support/rawHttp.js"
import { assertTag } from "../../support/assertTag.js"
import { live } from "../support/live.js"
import { connect, eventually, textOf } from "../support/session.js"

describe("connecting to a remote server", () => {
  for (const code of [400, 404, 405]) {
    live(
      `falls back to SSE after status ${code}, and keeps both causes`,
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
      `does not fall back after status ${code}`,
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
    "does not fall back with the type http, and uses SSE at once with the type sse",
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
    "fails with NetworkFailed without a listener",
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(serve(legacy()))
      const { code, permanent } = assertTag(yield* Effect.flip(connect({ url })), "NetworkFailed")
      assert.deepStrictEqual([code, permanent], ["ECONNREFUSED", false])
    })
  )

  live(
    "keeps what a 401 and a 403 ask for",
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
    "follows a redirect within the server's origin, and sends no credentials to another one",
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
    "fails with IncompatibleServer for something else than an MCP server",
    Effect.gen(function* () {
      const server = yield* serve((_, response) => status(response, 200, { "content-type": "text/html" }, "<html>"))
      assertTag(yield* Effect.flip(connect({ url: server.url })), "IncompatibleServer")
    })
  )

  live(
    "fails after the connect timeout without a response, and can be interrupted at any moment",
    Effect.gen(function* () {
      const server = yield* serve(() => {})
      const error = yield* Effect.flip(connect({ url: server.url, timeout: { connect: 400 } }))
      assert.deepStrictEqual(assertTag(error, "ConnectTimeout").after, 400)
      const fiber = yield* Effect.fork(connect({ url: server.url }))
      yield* eventually(() => server.received.length > 2)
      const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(took), 15_000)
    })
  )

  live(
    "sends the legacy handshake to a server that does not respond to the modern one",
    Effect.gen(function* () {
      const server = yield* serve(legacy(({ message }) => message.method === "server/discover"))
      const session = yield* connect({ url: server.url, timeout: { connect: 1000 } })
      assert.strictEqual(session.info.era, "legacy")
    })
  )
})

describe("certificates and proxies", () => {
  const file = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))

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
    "a private certificate is trusted only if the config names it",
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
    "a proxy of the environment is used, except for hosts in NO_PROXY",
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
