import { assert, describe, it } from "@effect/vitest"
import type { HttpHandler } from "../../src/connection/http/HttpClient.js"
import { exchange, readingOf, type ExchangeRequest } from "../../src/connection/http/HttpExchange.js"
import * as Intake from "../../src/connection/wire/Intake.js"
import type { Message } from "../../src/connection/wire/Wire.js"
import type { ConnectionError } from "../../src/domain/Errors.js"
import { heldBytes } from "../live/support/memory.js"

const server = "it"

/** An exchange whose response the test writes. */
const setup = (expects: ExchangeRequest["expects"], event?: (name: string) => boolean) => {
  const messages: Array<Message> = []
  const told: Array<string> = []
  const reasons: Array<ConnectionError> = []
  let handler: HttpHandler | undefined
  let ended = () => {}
  const end = new Promise<void>((resolve) => {
    ended = resolve
  })
  const context = readingOf(
    {
      server,
      scrub: (text) => text,
      scrubBeginning: (text) => text,
      login: false,
      events: { awaits: (id) => id === 1, dropped: (envelopes) => void told.push(`dropped ${envelopes[0]?.method}`) }
    },
    Intake.open(),
    (reason) => void reasons.push(reason)
  )
  exchange(
    context,
    {
      request: (_, given) => {
        handler = given
        return () => void told.push("aborted")
      }
    },
    { method: "POST", url: new URL("http://host.example"), headers: {}, inSession: false, expects },
    {
      message: (message) => void messages.push(message),
      event,
      end: () => {
        told.push("end")
        ended()
      },
      refused: ({ body, status }) => void told.push(`refused ${status} ${body.length}`),
      broken: ({ reason }) => void told.push(`broken ${reason.message}`)
    }
  )
  let isPaused = false
  let resumed = () => {}
  const flow = {
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
      resumed()
    }
  }
  /** Waits for the next turn, as a stream does. */
  const write = async (chunk: Buffer) => {
    handler!.data(chunk)
    if (isPaused && reasons.length === 0) await new Promise<void>((resolve) => (resumed = resolve))
  }
  return {
    messages,
    told,
    reasons,
    end,
    head: (status: number, type: string) => handler!.head(status, { "content-type": type }, flow),
    data: (text: string) => write(Buffer.from(text)),
    bytes: async (text: string) => {
      for (const byte of Buffer.from(text)) await write(Buffer.from(new Uint8Array([byte]).buffer))
    },
    finish: () => handler!.end()
  }
}

describe("a response body that carries no message", () => {
  for (const expects of ["answer", "nothing"] as const) {
    it(`is aborted when it is long: ${expects}`, async () => {
      const { data, head, told } = setup(expects)
      head(202, "text/plain")
      await data("x".repeat(16 * 1024))
      assert.deepStrictEqual(told, [])
      await data("x")
      assert.deepStrictEqual(told, ["end", "aborted"])
      await data("x".repeat(100_000))
      assert.deepStrictEqual(told, ["end", "aborted"])
    })

    it(`does not delay the end of the exchange: ${expects}`, async () => {
      const { end, head, told } = setup(expects)
      head(202, "text/plain")
      await end
      assert.deepStrictEqual(told, ["end", "aborted"])
    })

    it(`is read when it is short, so that the connection can be reused: ${expects}`, async () => {
      const { data, finish, head, told } = setup(expects)
      head(202, "text/plain")
      await data("Accepted")
      finish()
      assert.deepStrictEqual(told, ["end"])
    })
  }
})

describe("a body in chunks of one byte", () => {
  const answer = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text: "é".repeat(100) } })

  it("gives the same messages as one in one chunk", async () => {
    const json = setup("answer")
    json.head(200, "application/json")
    await json.bytes(answer)
    json.finish()
    const events = setup("answer")
    events.head(200, "text/event-stream")
    await events.bytes(`event: message\ndata: ${answer}\n\n`)
    for (const { messages } of [json, events]) assert.deepStrictEqual(messages, [JSON.parse(answer)])
  })

  for (const [type, begin] of [
    ["application/json", "{"],
    ["text/event-stream", "data: "]
  ] as const) {
    it(`uses little more memory than its bytes: ${type}`, async () => {
      const { bytes, data, head } = setup("answer")
      head(200, type)
      const before = heldBytes()
      await data(begin)
      await bytes("x".repeat(300_000))
      assert.isBelow(heldBytes() - before, 4_000_000)
    })
  }
})

describe("the limit of lines that are no messages", () => {
  it("counts lines before their event is complete", async () => {
    const { data, head, reasons } = setup("stream")
    head(200, "text/event-stream")
    await data("data: x\n")
    await data("x\n".repeat(150_000))
    assert.include(reasons[0]?.message, "lines that are no messages")
  })

  it("counts events with an unused name", async () => {
    const { data, head, reasons } = setup("stream", (name) => name === "endpoint")
    head(200, "text/event-stream")
    await data("event: endpoint\ndata: x\n\n".repeat(40_000))
    assert.deepStrictEqual(reasons, [])
    await data("event: foo\ndata: x\n\n".repeat(40_000))
    assert.include(reasons[0]?.message, "lines that are no messages")
  })

  it("rejects an event with more lines than the limit", async () => {
    const { data, head, told } = setup("stream")
    head(200, "text/event-stream")
    for (let part = 0; part < 101; part += 1) await data("data:\n".repeat(10_000))
    assert.include(told[0], "an event of more than 1000000 lines")
    assert.strictEqual(told[1], "aborted")
  })

  it("counts long messages that answer no request", async () => {
    const { data, head, messages, reasons, told } = setup("stream")
    head(200, "text/event-stream")
    const long = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`
    const text = "x".repeat(26 * 1024 * 1024)
    await data(long({ id: 1, result: { text } }))
    assert.strictEqual(messages.length, 1)
    // a late response is no fault of the server
    for (let count = 0; count < 2; count += 1) await data(long({ id: 7, result: { text } }))
    assert.deepStrictEqual(reasons, [])
    for (let count = 0; count < 4; count += 1) await data(long({ params: { text }, method: "notifications/message" }))
    assert.include(reasons[0]?.message, "lines that are no messages")
    assert.include(told, "dropped notifications/message")
  })
})
