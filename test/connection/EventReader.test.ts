import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { createParser } from "eventsource-parser"
import * as EventReader from "../../src/connection/http/EventReader.js"
import * as LineReader from "../../src/connection/wire/LineReader.js"
import { runs } from "../laws/runs.js"

const read = (text: string, isUsed = true) => {
  const events: Array<{ readonly name: string; readonly data: string }> = []
  const ids: Array<string> = []
  const retries: Array<number> = []
  const told: Array<string> = []
  let strays = 0
  const lines = LineReader.make({ limit: 1e9, overflow: () => told.push("line"), carriageReturns: true })
  const reader = EventReader.make({
    event: (name, data) => {
      events.push({ name, data: data.toString() })
      return isUsed
    },
    id: (id) => void ids.push(id),
    retry: (millis) => void retries.push(millis),
    stray: (bytes) => {
      strays += 1 + Math.floor(bytes / 1024)
    },
    tooLong: () => void told.push("too long"),
    tooManyLines: () => void told.push("too many lines")
  })
  lines.push(Buffer.from(text))
  while (reader.read(lines) > 0) {
    // each reads one line
  }
  return { events, ids, retries, strays, told }
}

describe("EventReader", () => {
  it("reads the same events as eventsource-parser", () => {
    const line = fc.tuple(
      fc.constantFrom(
        "data",
        "data:",
        "data: ",
        "event: ",
        "event:",
        "id: ",
        "retry: ",
        ": ",
        "x: ",
        "",
        "datax:",
        " data:"
      ),
      fc.constantFrom("", "x", " y", "a: b", "é", "message", "1000", "12a")
    )
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const text = `${lines.map((parts) => parts.join("")).join("\n")}\n\n`
        const events: Array<{ readonly name: string; readonly data: string }> = []
        const retries: Array<number> = []
        createParser({
          onEvent: ({ data, event }) => void events.push({ name: event ?? "", data }),
          onRetry: (millis) => void retries.push(millis)
        }).feed(text)
        const seen = read(text)
        assert.deepStrictEqual(seen.events, events)
        assert.deepStrictEqual(seen.retries, retries)
      }),
      runs(500)
    )
  })

  it("skips a byte order mark at the beginning", () => {
    assert.deepStrictEqual(read("\ufeffdata: x\n\n").events, [{ name: "", data: "x" }])
  })

  it("reports the last event id with each complete event", () => {
    assert.deepStrictEqual(read("id: 1\n\nid: 2\ndata:\n\nid: 3\ndata: x\n").ids, ["1", "2"])
    assert.deepStrictEqual(read(`id: ${"x".repeat(5000)}\ndata: x\n\n`).ids, [])
    assert.deepStrictEqual(read("id: a\0b\ndata: x\n\n").ids, [])
  })

  it("counts a line that is no field as stray at once, also within an event", () => {
    assert.strictEqual(read("data: x\nnonsense\n: comment\nfield: y\n").strays, 3)
    assert.strictEqual(read(`data: x\n${"x".repeat(10_240)}\n`).strays, 11)
    assert.strictEqual(read("data: x\n\n").strays, 0)
  })

  it("counts each line of an unused event as stray", () => {
    assert.strictEqual(read("event: foo\ndata: x\n\n", false).strays, 3)
    assert.strictEqual(read("\n\n\n").strays, 3)
  })

  it("rejects an event with more lines than the limit", () => {
    const lines = (count: number) => read("data:\n".repeat(count))
    assert.deepStrictEqual(lines(EventReader.maxEventLines).told, [])
    assert.deepStrictEqual(lines(EventReader.maxEventLines + 1).told, ["too many lines"])
    assert.deepStrictEqual(read("id: 1\n".repeat(EventReader.maxEventLines + 1)).told, ["too many lines"])
  })

  it("rejects an event with more bytes than a message may have", () => {
    const piece = `data: ${"x".repeat(8 * 1024 * 1024)}\n`
    assert.deepStrictEqual(read(piece.repeat(3)).told, [])
    assert.deepStrictEqual(read(piece.repeat(4)).told, ["too long"])
  })
})
