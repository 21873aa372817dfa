import { assert, describe } from "@effect/vitest"
import { Chunk, Duration, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { assertTag } from "../../support/assertTag.js"
import {
  type Answer,
  event,
  isCall,
  json,
  legacy,
  type Received,
  result,
  serve,
  status,
  stream,
  text
} from "../support/rawHttp.js"
import { live } from "../support/live.js"
import { connect, eventually, textOf } from "../support/session.js"

const withOwn = (own: (received: Received, ...rest: [Parameters<Answer>[1], Parameters<Answer>[2]]) => boolean) =>
  Effect.gen(function* () {
    const server = yield* serve(legacy(own))
    const session = yield* connect({ url: server.url })
    return { server, session }
  })

describe("a call that was sent fails as OutcomeUnknown", () => {
  for (const [name, then] of [
    ["nobody is there any more", "reset"],
    ["the server does not take the question", 400],
    ["the server asks for a login", 401],
    ["the session is gone", 404]
  ] as const) {
    live(
      `when its response breaks off and cannot be resumed: ${name}`,
      Effect.gen(function* () {
        const { session } = yield* withOwn((received, response, request) => {
          if (isCall(received)) {
            stream(response).end("id: 1\nretry: 10\ndata:\n\n")
            return true
          }
          if (received.headers["last-event-id"] === undefined) return false
          if (then === "reset") request.socket.destroy()
          else status(response, then)
          return true
        })
        assertTag(yield* Effect.flip(session.callTool("any")), "OutcomeUnknown")
        if (then === 401) assertTag(yield* session.closed, "AuthRequired")
        if (then === 404) assertTag(yield* session.closed, "SessionLost")
      })
    )
  }

  live(
    "when the id of the last event cannot be put into a header",
    Effect.gen(function* () {
      let asked = 0
      const { session } = yield* withOwn((received, response) => {
        if (received.headers["last-event-id"] !== undefined) asked += 1
        if (isCall(received)) stream(response).end("id: 号\nretry: 10\ndata:\n\n")
        return isCall(received)
      })
      assertTag(yield* Effect.flip(session.callTool("any")), "OutcomeUnknown")
      assert.strictEqual(asked, 0)
    })
  )

  live(
    "after a redirect 303, but not after a redirect 307, which leaves it unsent",
    Effect.gen(function* () {
      let code = 303
      const { session } = yield* withOwn((received, response) => {
        if (isCall(received)) status(response, code, { location: "http://127.0.0.1:1/" })
        return isCall(received)
      })
      assertTag(yield* Effect.flip(session.callTool("any")), "OutcomeUnknown")
      code = 307
      assertTag(yield* Effect.flip(session.callTool("any")), "NotSent")
    })
  )
})

describe("an unusual server", () => {
  for (const [name, answer] of [
    ["with an object", (response) => void json(response, {})],
    ["with a status", (response) => void json(response, { status: "ok" })],
    ["with nothing", (response) => void status(response, 200)],
    ["with text", (response) => void status(response, 200, { "content-type": "text/plain" }, "Accepted")],
    ["with a stream that stays open", (response) => void stream(response).write(": hello\n\n")]
  ] satisfies ReadonlyArray<readonly [string, (response: Parameters<Answer>[1]) => void]>) {
    live(
      `may answer a notification ${name}`,
      Effect.gen(function* () {
        const { session } = yield* withOwn(({ message }, response) => {
          if (message.method !== "notifications/initialized") return false
          answer(response)
          return true
        })
        assert.strictEqual(textOf(yield* session.callTool("any")), "called")
      })
    )
  }

  live(
    "may begin its responses with a byte order mark",
    Effect.gen(function* () {
      const { session } = yield* withOwn((received, response) => {
        if (!isCall(received)) return false
        const body = `\uFEFF${JSON.stringify(result(received, text("marked")))}`
        status(response, 200, { "content-type": "application/json" }, body)
        return true
      })
      assert.strictEqual(textOf(yield* session.callTool("any")), "marked")
    })
  )

  live(
    "is classified by its status if its body does not end or breaks off",
    Effect.gen(function* () {
      for (const write of ["never ends", "breaks off"]) {
        const server = yield* serve((_, response) => {
          response.writeHead(401, { "content-length": "1000" })
          response.write("half a b", () => {
            if (write === "breaks off") response.destroy()
          })
        })
        assertTag(yield* Effect.flip(connect({ url: server.url })), "AuthRequired")
      }
    })
  )

  live(
    "counts as alive if it answers a probe with an invalid result",
    Effect.gen(function* () {
      const { session } = yield* withOwn((received, response) => {
        if (received.message.method !== "ping") return false
        json(response, { jsonrpc: "2.0", id: received.message.id, result: null })
        return true
      })
      yield* session.probe("5 seconds")
    })
  )
})

describe("invalid settings", () => {
  live(
    "a password with a stray percent sign is sent unchanged",
    Effect.gen(function* () {
      const server = yield* serve(legacy())
      yield* connect({ url: server.url.replace("//", "//user:100%sure@") })
      const expected = `Basic ${Buffer.from("user:100%sure").toString("base64")}`
      assert.strictEqual(server.received[0]!.headers.authorization, expected)
    })
  )

  live(
    "an invalid proxy is a typed failure, one without a scheme is used",
    Effect.gen(function* () {
      const before = process.env.HTTP_PROXY
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.HTTP_PROXY
          else process.env.HTTP_PROXY = before
        })
      )
      process.env.HTTP_PROXY = "http://:::"
      assert.include(
        assertTag(yield* Effect.flip(connect({ url: "http://mcp.test/" })), "NetworkFailed").detail,
        "HTTP_PROXY"
      )
      process.env.HTTP_PROXY = "127.0.0.1:1"
      assert.strictEqual(
        assertTag(yield* Effect.flip(connect({ url: "http://mcp.test/" })), "NetworkFailed").code,
        "ECONNREFUSED"
      )
    })
  )
})

describe("subscriptions", () => {
  live(
    "a reader that starts while the last one ends is subscribed",
    Effect.gen(function* () {
      const told: Array<string> = []
      const { server, session } = yield* withOwn((received, response) => {
        const { method } = received.message
        if (method !== "resources/subscribe" && method !== "resources/unsubscribe") return false
        // the server is slow to unsubscribe
        const done = () => {
          told.push(method)
          json(response, result(received, {}))
        }
        if (method === "resources/unsubscribe") setTimeout(done, 50)
        else done()
        return true
      })
      const read = Effect.fork(Stream.runCollect(session.subscribeResource("test://a")))
      const first = yield* read
      yield* eventually(() => told.length === 1)
      const leaving = yield* Effect.fork(Fiber.interrupt(first))
      yield* eventually(() => server.seen().includes("resources/unsubscribe"))
      const second = yield* read
      yield* Fiber.join(leaving)
      yield* eventually(() => told.length === 3)
      assert.deepStrictEqual(told, ["resources/subscribe", "resources/unsubscribe", "resources/subscribe"])
      yield* Fiber.interrupt(second)
    })
  )
})

describe("closing", () => {
  live(
    "does not wait for a handler that is slow to stop",
    Effect.gen(function* () {
      let asked = false
      const elicit = () =>
        Effect.sync(() => {
          asked = true
        }).pipe(
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() => Effect.sleep("20 seconds"))
        )
      const server = yield* serve(
        legacy((received, response) => {
          if (!isCall(received)) return false
          const params = { message: "?", requestedSchema: { type: "object", properties: {} } }
          stream(response).write(event({ jsonrpc: "2.0", id: 1, method: "elicitation/create", params }))
          return true
        })
      )
      const scope = yield* Scope.make()
      const session = yield* connect({ url: server.url }, { handlers: { elicit } }).pipe(Scope.extend(scope))
      const call = yield* Effect.fork(Effect.exit(session.callTool("any")))
      yield* eventually(() => asked)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(took), 15_000)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(call)))
      assert.isTrue(Chunk.isEmpty(yield* Stream.runCollect(Stream.drop(session.notifications, 100))))
    })
  )
})
