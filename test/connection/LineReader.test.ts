import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as LineReader from "../../src/connection/wire/LineReader.js"

const read = (chunks: ReadonlyArray<Buffer>, { carriageReturns = false, limit = 1000 } = {}) => {
  const lines: Array<string> = []
  let overflows = 0
  const reader = LineReader.make({
    limit,
    carriageReturns,
    overflow: () => {
      overflows += 1
    }
  })
  for (const chunk of chunks) {
    reader.push(chunk)
    while (reader.next()) lines.push(reader.text())
  }
  return { lines, overflows }
}

/** A text in chunks of these sizes, repeated. */
const chopped = (bytes: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const chunks: Array<Buffer> = []
  for (let from = 0, index = 0; from < bytes.length; index += 1) {
    const size = sizes[index % sizes.length]! + 1
    chunks.push(bytes.subarray(from, from + size))
    from += size
  }
  return chunks
}

const sizes = FastCheck.array(FastCheck.nat(5), { minLength: 1 })

describe("LineReader", () => {
  it("finds the same lines however the bytes are split into chunks", () => {
    const text = FastCheck.array(FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.constant("\n")))
    FastCheck.assert(
      FastCheck.property(text, sizes, (parts, sizes) => {
        const bytes = Buffer.from(`${parts.join("")}\nthe end is not a line`)
        assert.deepStrictEqual(read(chopped(bytes, sizes)).lines, bytes.toString().split("\n").slice(0, -1))
      })
    )
  })

  it("drops a line that is too long and reports it", () => {
    const { lines, overflows } = read(
      ["a\n", "b".repeat(600), "b".repeat(600), "c\nd\n"].map((each) => Buffer.from(each))
    )
    assert.deepStrictEqual(lines, ["a", "c", "d"])
    assert.strictEqual(overflows, 1)
  })
  it("accepts carriage returns as line ends where configured, however the bytes are split into chunks", () => {
    const text = FastCheck.array(FastCheck.constantFrom("\r", "\n", "\r\n", "ä", "data: x"))
    FastCheck.assert(
      FastCheck.property(text, sizes, (parts, sizes) => {
        const bytes = Buffer.from(`${parts.join("")}\nthe end is not a line`)
        const expected = bytes
          .toString()
          .split(/\r\n|\r|\n/)
          .slice(0, -1)
        assert.deepStrictEqual(read(chopped(bytes, sizes), { carriageReturns: true }).lines, expected)
      })
    )
  })

  it("ends a line at a carriage return without waiting for the next byte", () => {
    const reader = LineReader.make({ limit: 1000, carriageReturns: true, overflow: () => {} })
    reader.push(Buffer.from("data: x\r\r"))
    assert.deepStrictEqual([reader.next(), reader.text(), reader.next(), reader.text()], [true, "data: x", true, ""])
    reader.push(Buffer.from("\ndata: y\n"))
    assert.deepStrictEqual([reader.next(), reader.text(), reader.next()], [true, "data: y", false])
  })

  it("finds the first byte of a line after white space and a byte order mark", () => {
    const reader = LineReader.make({ limit: 1000, overflow: () => {} })
    reader.push(Buffer.from("\ufeff \t{}\r\n   \n[\nx\n"))
    const firsts: Array<string> = []
    while (reader.next()) firsts.push(String.fromCharCode(reader.firstByte()))
    assert.deepStrictEqual(firsts, ["{", "\0", "[", "x"])
  })
})
