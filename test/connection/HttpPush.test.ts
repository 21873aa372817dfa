import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import type { HttpClient, HttpHandler, HttpRequest } from "../../src/connection/http/HttpClient.js"
import * as HttpPush from "../../src/connection/http/HttpPush.js"
import * as Intake from "../../src/connection/wire/Intake.js"
import type { Push } from "../../src/domain/catalog/Protocol.js"

const headers = { "content-type": "text/event-stream" }

const flow = { pause: () => {}, resume: () => {} }

const setup = Effect.gen(function* () {
  const streams: Array<{ readonly request: HttpRequest; readonly handler: HttpHandler }> = []
  const states: Array<Push> = []
  const messages: Array<unknown> = []
  const lost: Array<string> = []
  const client: HttpClient = {
    request: (request, handler) => {
      streams.push({ request, handler })
      return () => {}
    }
  }
  const fiber = yield* Effect.fork(
    HttpPush.keepOpen({
      context: {
        server: "it",
        scrub: (text) => text,
        scrubBeginning: (text) => text,
        login: true,
        intake: Intake.open(),
        stray: () => {},
        awaits: () => false,
        dropped: () => {}
      },
      client,
      request: (lastEventId) => ({
        method: "GET",
        url: new URL("http://127.0.0.1/"),
        headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
        inSession: true,
        expects: "stream"
      }),
      lost: (reason) => lost.push(reason._tag),
      events: { push: (push) => states.push(push), message: (message) => messages.push(message) }
    })
  )
  yield* TestClock.adjust(0)
  const last = () => streams.at(-1)!
  const open = () => last().handler.head(200, headers, flow)
  const say = (text: string) => last().handler.data(Buffer.from(text))
  return { fiber, streams, states, messages, lost, last, open, say }
})

describe("HttpPush", () => {
  it.effect("reopens a stream that is closed again and again after growing delays", () =>
    Effect.gen(function* () {
      const { last, open, states, streams } = yield* setup
      const gaps: Array<number> = []
      for (let round = 0; round < 9; round += 1) {
        open()
        yield* TestClock.adjust("3 seconds")
        last().handler.end()
        const before = streams.length
        let waited = 0
        while (streams.length === before) {
          yield* TestClock.adjust("500 millis")
          waited += 0.5
        }
        gaps.push(waited)
      }
      assert.deepStrictEqual(gaps, [1, 2, 4, 8, 16, 32, 60, 60, 60])
      assert.deepStrictEqual([...new Set(states)], ["open", "degraded"])
      assert.strictEqual(states.at(-1), "degraded")
    })
  )

  it.effect("reports a stream as open again, and resets its delay, once it stays open", () =>
    Effect.gen(function* () {
      const { last, open, states, streams } = yield* setup
      open()
      last().handler.end()
      yield* TestClock.adjust("1 second")
      open()
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(states, ["open", "degraded", "degraded", "open"])
      last().handler.end()
      yield* TestClock.adjust("1 second")
      assert.lengthOf(streams, 3)
    })
  )

  it.effect("resumes after the last event and the delay that the server asked for, and drops a rejected event id", () =>
    Effect.gen(function* () {
      const { last, messages, open, say, streams } = yield* setup
      open()
      say('retry: 5000\nid: 41\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\nid: 42\ndata:\n\n')
      last().handler.end()
      yield* TestClock.adjust("4 seconds")
      assert.lengthOf(streams, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(last().request.headers, { "last-event-id": "42" })
      assert.lengthOf(messages, 1)
      last().handler.head(400, {}, flow)
      last().handler.end()
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(last().request.headers, {})
    })
  )

  it.effect("does not ask again for a stream that the server does not offer", () =>
    Effect.gen(function* () {
      const { fiber, last, states } = yield* setup
      last().handler.head(405, {}, flow)
      last().handler.end()
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(states, ["none"])
    })
  )

  it.effect("reports a lost session when the server answers 404 to a stream that was open before", () =>
    Effect.gen(function* () {
      const { fiber, last, lost, open } = yield* setup
      open()
      last().handler.end()
      yield* TestClock.adjust("1 second")
      last().handler.head(404, {}, flow)
      last().handler.end()
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(lost, ["SessionLost"])
    })
  )

  it.effect("retries a stream after a transient failure", () =>
    Effect.gen(function* () {
      const { last, states, streams } = yield* setup
      last().handler.error(new Error("reset"))
      yield* TestClock.adjust("1 second")
      last().handler.head(503, {}, flow)
      last().handler.end()
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(streams, 3)
      assert.deepStrictEqual(states, ["degraded", "degraded"])
    })
  )
})
