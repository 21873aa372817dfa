/** Clients that are not admitted cannot hold connections or memory of the supervisor. */
import { connect, Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { controlled, local, token } from "../support/control.js"
import { heldBytes, megabyte } from "../support/memory.js"
import { eventually } from "../support/session.js"

const quiet = Logger.remove(Logger.defaultLogger)

const setup = (control = {}) =>
  controlled({ supervisor: { servers: { off: { ...local, enabled: false } } }, control }).pipe(Effect.provide(quiet))

interface Visitor {
  readonly socket: Socket
  /** What was answered until now. */
  readonly heard: () => string
  readonly answered: Promise<string>
  readonly closed: Promise<void>
}

/** A client that sends the head of a request, and then whatever the test writes. */
const visit = (address: string, head: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync((): Visitor => {
      const socket = connect(Number(new URL(address).port), "127.0.0.1")
      let text = ""
      socket.write(`${head.join("\r\n")}\r\n\r\n`)
      // the end of the connection can be reported as an error
      socket.on("error", () => {})
      return {
        socket,
        heard: () => text,
        answered: new Promise((resolve) =>
          socket.on("data", (part) => {
            text += String(part)
            const [, status] = /^HTTP\/1\.1 (\d{3}) [\s\S]*\}\}$/.exec(text) ?? []
            if (status !== undefined) resolve(status)
          })
        ),
        closed: new Promise((resolve) => socket.once("close", () => resolve()))
      }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Sends a text repeatedly until the supervisor stops reading. Returns how much was sent, and how much memory it took. */
const pour = ({ closed, socket }: Visitor, part: Buffer) =>
  Effect.promise(async () => {
    const before = heldBytes()
    let grown = 0
    let sent = 0
    while (!socket.destroyed) {
      sent += part.length
      if (sent % (32 * megabyte) < part.length) grown = Math.max(grown, heldBytes() - before)
      if (socket.write(part)) await new Promise(setImmediate)
      else await Promise.race([closed, new Promise((resolve) => socket.once("drain", resolve))])
    }
    return { sent, grown: Math.max(grown, heldBytes() - before) }
  })

/** All of this process, on both sides. */
const openSockets = (): ReadonlyArray<Socket> =>
  // the public function tells how many there are, not whose
  (process as unknown as { readonly _getActiveHandles: () => ReadonlyArray<unknown> })
    ._getActiveHandles()
    .filter((handle) => handle instanceof Socket)

const right = { Host: "127.0.0.1", Authorization: `Bearer ${token}` }

const strangers: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  "no token": ["401", { Host: "127.0.0.1" }],
  "a wrong token": ["401", { ...right, Authorization: `Bearer ${token}x` }],
  "a foreign Host": ["403", { ...right, Host: "evil.test" }],
  "a foreign Origin": ["403", { ...right, Origin: "https://evil.test" }]
}

const bodies: Readonly<Record<string, readonly [string, Buffer]>> = {
  "that never ends": [
    "Transfer-Encoding: chunked",
    Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000, 32), Buffer.from("\r\n")])
  ],
  "of a terabyte": ["Content-Length: 1000000000000", Buffer.alloc(0x10000, 32)]
}

const post = (headers: Readonly<Record<string, string>>, framing: string) => [
  "POST /mcp HTTP/1.1",
  ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  "Content-Type: application/json",
  framing
]

describe.concurrent("a client without access", () => {
  for (const [who, [status, headers]] of Object.entries(strangers)) {
    it.scopedLive(`with ${who} is rejected before its endless body, and then disconnected`, () =>
      Effect.gen(function* () {
        const { ask, server } = yield* setup()
        for (const [what, [framing, part]] of Object.entries(bodies)) {
          const visitor = yield* visit(server.address, post(headers, framing))
          // not a byte of the body was sent
          assert.strictEqual(yield* Effect.promise(() => visitor.answered), status, what)
          const { grown, sent } = yield* pour(visitor, part)
          assert.isBelow(grown, 32 * megabyte, `${sent} bytes ${what}`)
          assert.strictEqual(visitor.heard().split("HTTP/1.1").length, 2)
          assert.strictEqual((yield* ask("/health")).status, 200)
        }
      })
    )
  }

  it.scopedLive("is disconnected if it sends its request slowly or not at all", () =>
    Effect.gen(function* () {
      const { server } = yield* setup()
      for (const [framing] of Object.values(bodies)) {
        const visitor = yield* visit(server.address, post({ Host: "127.0.0.1" }, framing))
        assert.strictEqual(yield* Effect.promise(() => visitor.answered), "401")
        yield* Effect.promise(() => visitor.closed)
      }
    })
  )
})

describe("a client that does not send HTTP", () => {
  it.scopedLive("gets 400, and is disconnected if it does not disconnect itself", () =>
    Effect.gen(function* () {
      const { server } = yield* setup()
      const port = Number(new URL(server.address).port)
      let heard = ""
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      socket.on("data", (part) => (heard += String(part)))
      socket.write("what is that\r\n\r\n")
      yield* eventually(() => socket.readableEnded)
      assert.match(heard, /^HTTP\/1\.1 400 /)
      const { localPort } = socket
      yield* eventually(() => !openSockets().some(({ remotePort }) => remotePort === localPort))
    })
  )
})

describe("a client with the token", () => {
  it.scopedLive("gets 413 before its large body ends, and is then disconnected", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setup({ maxBody: 100_000 })
      const [endless, terabyte] = Object.values(bodies) as [(typeof bodies)[string], (typeof bodies)[string]]
      const announced = yield* visit(server.address, post(right, terabyte[0]))
      assert.strictEqual(yield* Effect.promise(() => announced.answered), "413")
      const poured = yield* visit(server.address, post(right, endless[0]))
      const { grown, sent } = yield* pour(poured, endless[1])
      assert.strictEqual(yield* Effect.promise(() => poured.answered), "413")
      assert.isBelow(grown, 32 * megabyte, `${sent} bytes`)
      assert.strictEqual((yield* ask("/health")).status, 200)
    })
  )

  it.scopedLive("keeps its connection after an invalid request whose body was read", () =>
    Effect.gen(function* () {
      const { server } = yield* setup()
      const visitor = yield* visit(server.address, post(right, "Content-Length: 1"))
      visitor.socket.write("{")
      assert.strictEqual(yield* Effect.promise(() => visitor.answered), "400")
      visitor.socket.write(`${post(right, "Content-Length: 2").join("\r\n")}\r\n\r\n[]`)
      yield* eventually(() => visitor.heard().split("HTTP/1.1 400").length === 3)
    })
  )
})
