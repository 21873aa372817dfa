import { assert, describe, it } from "@effect/vitest"
import * as LineReader from "../../src/connection/wire/LineReader.js"
import * as MessageReader from "../../src/connection/wire/MessageReader.js"
import type { MessageHead } from "../../src/connection/wire/scanMessage.js"

const megabytes = (count: number) => "x".repeat(count * 1024 * 1024)

/** Reads a text as a line and as a body. The requests 5 and "call-1" are pending. */
const read = (text: string) => {
  const outcomes = (["line", "body"] as const).map((way) => {
    const messages: Array<unknown> = []
    const dropped: Array<ReadonlyArray<MessageHead>> = []
    const told: Array<string> = []
    const reader = MessageReader.make({
      message: ({ id, method }) => void messages.push(method ?? id),
      awaits: (id) => id === 5 || id === "call-1",
      dropped: (envelopes) => void dropped.push(envelopes),
      tooManyValues: () => void told.push("too many values"),
      stray: () => void told.push("stray")
    })
    const lines = LineReader.make({ limit: 1e9, overflow: () => {} })
    lines.push(Buffer.from(`${text}\n`))
    if (way === "line") reader.read(lines)
    else if (reader.take(Buffer.from(text)) === "nothing") told.push("stray")
    while (reader.next() > 0) {
      // each hands over one
    }
    return { messages, dropped, told }
  })
  assert.deepStrictEqual(outcomes[0], outcomes[1])
  return outcomes[0]!
}

const message = (rest: object) => JSON.stringify({ jsonrpc: "2.0", ...rest })

describe("a long message", () => {
  it("is read if it answers a pending request, wherever its id is", () => {
    const result = { text: megabytes(20) }
    assert.deepStrictEqual(read(message({ id: 5, result })).messages, [5])
    assert.deepStrictEqual(read(message({ result, id: "call-1" })).messages, ["call-1"])
    assert.deepStrictEqual(read(message({ result: { id: 7, method: "x", text: megabytes(20) }, id: 5 })).messages, [5])
    const batch = `[${message({ method: "x" })},${message({ result, id: 5 })}]`
    assert.deepStrictEqual(read(batch).messages, ["x", 5])
  })

  it("is dropped without parsing otherwise", () => {
    const params = { data: megabytes(9) }
    const cases = [
      [message({ method: "notifications/message", params }), { id: undefined, method: "notifications/message" }],
      [message({ params, method: "notifications/message" }), { id: undefined, method: "notifications/message" }],
      [message({ id: 5, params, method: "sampling/createMessage" }), { id: 5, method: "sampling/createMessage" }],
      [message({ id: 7, result: params }), { id: 7, method: undefined }],
      [message({ id: "5", result: params }), { id: "5", method: undefined }]
    ] as const
    for (const [text, envelope] of cases) {
      assert.deepStrictEqual(read(text), { messages: [], dropped: [[envelope]], told: [] })
    }
  })

  it("is read up to a limit if it is a request of the server, for example with an image", () => {
    const params = { image: megabytes(7) }
    assert.deepStrictEqual(read(message({ id: 9, method: "sampling/createMessage", params })).messages, [
      "sampling/createMessage"
    ])
  })

  it("is measured by the memory that its values take", () => {
    const params = Array.from({ length: 300_000 }, () => [])
    assert.strictEqual(read(message({ method: "x", params })).dropped.length, 1)
    assert.deepStrictEqual(read(message({ method: "x", params: params.slice(0, 200_000) })).messages, ["x"])
    assert.deepStrictEqual(read(message({ id: 5, result: params })).messages, [5])
  })

  it("is not parsed if it has too many values", () => {
    assert.deepStrictEqual(read(`{"jsonrpc":"2.0","id":5,"result":[${"[],".repeat(1_000_000)}0]}`), {
      messages: [],
      dropped: [],
      told: ["too many values"]
    })
  })

  it("counts as a stray line if it is no message", () => {
    assert.deepStrictEqual(read("<html>").told, ["stray"])
    assert.deepStrictEqual(read("{ not a message").told, ["stray"])
    assert.deepStrictEqual(read("").told, ["stray"])
    assert.deepStrictEqual(read(`  \ufeff${message({ method: "x" })}`).told, ["stray"])
    assert.deepStrictEqual(read(`\ufeff  ${message({ method: "x" })}`).messages, ["x"])
  })
})
