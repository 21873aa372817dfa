/** Clients that leave in the middle, ask for what there is not, or write their requests in odd ways. */
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { controlled, local, token } from "../support/control.js"

const quiet = Logger.remove(Logger.defaultLogger)

/** Writes something, waits for that much of an answer, and is gone. */
const hangUp = (address: string, text: string, leave: (socket: Socket) => void) =>
  Effect.async<void>((resume) => {
    const { hostname, port } = new URL(address)
    const socket = connect(Number(port), hostname, () => {
      socket.write(text)
      leave(socket)
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.void))
  })

/** What comes back for a text, until they hang up. */
const say = (address: string, text: string) =>
  Effect.async<string>((resume) => {
    const { hostname, port } = new URL(address)
    let answer = ""
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on("data", (part) => {
      answer += part
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(answer)))
    return Effect.sync(() => void socket.destroy())
  })

const destroyed = (socket: Socket) => void setImmediate(() => socket.destroy())
const reset = (socket: Socket) => void socket.resetAndDestroy()
const resetLater = (socket: Socket) => void setImmediate(() => socket.resetAndDestroy())

const authorised = (address: string) => `Host: ${new URL(address).host}\r\nAuthorization: Bearer ${token}\r\n`

const json = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))

type Ask = (path: string) => Effect.Effect<{ readonly text: string }, Error>

/** Fibers that run, once they are no more than that; after a while, however many they are. */
const fibers = (ask: Ask, most: number) =>
  Effect.gen(function* () {
    const count = Effect.map(ask("/metrics"), ({ text }) => Number(/^effect_fiber_active (\d+)$/m.exec(text)?.[1]))
    for (let turn = 0; turn < 100; turn++) {
      const now = yield* count
      if (now <= most) return now
      yield* Effect.sleep(20)
    }
    return yield* count
  })

describe("a client that disconnects", () => {
  it.scopedLive("during an upgrade does not affect other clients", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* controlled({})
      const upgrade = "GET /x HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
      for (let turn = 0; turn < 100; turn++) {
        yield* Effect.all(
          [reset, resetLater, destroyed].map((leave) => hangUp(server.address, upgrade, leave)),
          { concurrency: "unbounded" }
        )
      }
      assert.strictEqual((yield* ask("/health")).status, 200)
      // a client that requests another protocol gets an HTTP response
      const h2c = `GET /health HTTP/1.1\r\n${authorised(server.address)}Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`
      assert.match(yield* say(server.address, h2c), /^HTTP\/1\.1 200 /)
    }).pipe(Effect.provide(quiet))
  )

  const requests: Readonly<Record<string, (address: string) => string>> = {
    "many requests at once, without a token": () => "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50),
    "many requests at once": (address) => `GET /mcp HTTP/1.1\r\n${authorised(address)}\r\n`.repeat(50),
    "half a body": (address) =>
      `POST /mcp HTTP/1.1\r\n${authorised(address)}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    "half a body, without a token": () => "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    "two streams, one behind the other": (address) => `GET /events HTTP/1.1\r\n${authorised(address)}\r\n`.repeat(2),
    "a call that takes long": (address) =>
      `POST /tools/one_wait/call HTTP/1.1\r\n${authorised(address)}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
  }

  for (const [name, request] of Object.entries(requests)) {
    it.scopedLive(`after ${name} leaves no fiber running`, () =>
      Effect.gen(function* () {
        const { ask, server } = yield* controlled({ supervisor: { servers: { one: local } } })
        yield* ask("/health")
        const before = yield* fibers(ask, Infinity)
        for (const leave of [destroyed, reset, resetLater]) {
          for (let turn = 0; turn < 2; turn++) {
            yield* Effect.all(
              Array.from({ length: 10 }, () => hangUp(server.address, request(server.address), leave)),
              { concurrency: "unbounded" }
            )
          }
        }
        assert.strictEqual((yield* ask("/health")).status, 200)
        assert.isAtMost(yield* fibers(ask, before + 5), before + 5)
      }).pipe(Effect.provide(quiet))
    )
  }
})

describe("an unusual request", () => {
  const close = "Connection: close\r\n"

  it.scopedLive("does not reach another route: a semicolon is part of a name", () =>
    Effect.gen(function* () {
      const { ask, supervisor } = yield* controlled({ supervisor: { servers: { one: local } } })
      for (const [method, path] of [
        ["DELETE", "/mcp/one;x/auth"],
        ["DELETE", "/mcp/one;x"],
        ["GET", "/servers/one;a=b"],
        ["POST", "/mcp/one;x/disconnect"]
      ] as const) {
        const { json, status } = yield* ask(path, { method })
        assert.strictEqual(status, 404, path)
        assert.strictEqual(json.error.tag, "ServerNotFound", path)
      }
      assert.strictEqual((yield* supervisor.servers).length, 1)
      assert.strictEqual((yield* ask("/mcp;x")).json.error.tag, "RouteNotFound")
    }).pipe(Effect.provide(quiet))
  )

  it.scopedLive("is rejected in the error format of the API", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* controlled({})
      const head = authorised(server.address)
      const repeated = yield* ask("/tools?agent=s3cr3t-a&agent=s3cr3t-b")
      assert.strictEqual(repeated.status, 400)
      assert.strictEqual(repeated.json.error.tag, "BadRequest")
      assert.notInclude(repeated.text, "s3cr3t")

      const nameless = yield* say(server.address, `GET /mcp HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n${close}\r\n`)
      assert.match(nameless, /^HTTP\/1\.1 403 /)
      assert.strictEqual(json(nameless).error.tag, "Forbidden")

      const twice = yield* say(server.address, `GET /mcp HTTP/1.1\r\n${head}Host: evil.example\r\n${close}\r\n`)
      assert.match(twice, /^HTTP\/1\.1 403 /)

      const expecting = yield* say(server.address, `GET /nothing HTTP/1.1\r\n${head}Expect: bananas\r\n${close}\r\n`)
      assert.match(expecting, /^HTTP\/1\.1 404 /)
      assert.strictEqual(json(expecting).error.tag, "RouteNotFound")

      const long = yield* say(server.address, `GET /mcp HTTP/1.1\r\n${head}X: ${"x".repeat(20_000)}\r\n${close}\r\n`)
      assert.match(long, /^HTTP\/1\.1 431 /)
      assert.include(json(long).error.message, "too large")
    }).pipe(Effect.provide(quiet))
  )

  it.scopedLive("with Expect: 100-continue is asked for its body only after it was admitted", () =>
    Effect.gen(function* () {
      const { server } = yield* controlled({})
      const expecting = "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
      const post = (head: string) => `POST /mcp HTTP/1.1\r\n${head}${expecting}${close}\r\n`
      const refused = yield* say(server.address, post(`Host: ${new URL(server.address).host}\r\n`))
      assert.match(refused, /^HTTP\/1\.1 401 /)
      const large = post(authorised(server.address)).replace("Content-Length: 2", "Content-Length: 99999999")
      assert.match(yield* say(server.address, large), /^HTTP\/1\.1 413 /)
      const heard = yield* say(server.address, `${post(authorised(server.address))}{}`)
      assert.match(heard, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /)
    }).pipe(Effect.provide(quiet))
  )

  it.scopedLive("that is not HTTP gets no error within the response to another request", () =>
    Effect.gen(function* () {
      const { server } = yield* controlled({})
      const head = authorised(server.address)
      const stream = yield* say(server.address, `GET /events HTTP/1.1\r\n${head}\r\n\0\0garbage\r\n\r\n`)
      assert.notInclude(stream, "HTTP/1.1 400")
      const chunked = `POST /mcp HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz`
      assert.match(yield* say(server.address, `${chunked}\r\n`), /^HTTP\/1\.1 400 [^]*this is not an HTTP request/)
    }).pipe(Effect.provide(quiet))
  )

  it.scopedLive("with thousands of query parameters is rejected", () =>
    Effect.gen(function* () {
      const { ask } = yield* controlled({})
      const parameters = Array.from({ length: 2500 }, (_, index) => index.toString(36)).join("&")
      const { json, status } = yield* ask(`/tools?${parameters}`)
      assert.strictEqual(`${status} ${json.error.tag}`, "400 BadRequest")
    }).pipe(Effect.provide(quiet))
  )

  it.scopedLive("with unknown query parameters is rejected", () =>
    Effect.gen(function* () {
      const { ask } = yield* controlled({ supervisor: { servers: { one: local } } })
      for (const [path, body] of [
        ["/tools/one_x/call", { argumens: {} }],
        ["/tools/one_x/call", { options: { idleTimeot: 1 } }],
        ["/resources/read", { server: "one", uri: "x://y", ur: "" }],
        ["/prompts/get", { server: "one", name: "x", args: {} }],
        ["/mcp/one/auth/callback", { url: "http://localhost/", sate: "" }],
        ["/trust", { fil: "x" }]
      ] as const) {
        const { json, status } = yield* ask(path, { method: "POST", body })
        assert.strictEqual(status, 400, path)
        assert.strictEqual(json.error.tag, "BadRequest", path)
        assert.include(JSON.stringify(json.error.issues), "a known key", path)
      }
    }).pipe(Effect.provide(quiet))
  )
})
