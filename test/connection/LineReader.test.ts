import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as LineReader from "../../src/connection/LineReader.js"

const read = (chunks: ReadonlyArray<Buffer>, limit = 1000) => {
  const lines: Array<string> = []
  let overflows = 0
  const feed = LineReader.make({
    limit,
    line: (text) => lines.push(text),
    overflow: () => {
      overflows += 1
    }
  })
  for (const chunk of chunks) feed(chunk)
  return { lines, overflows }
}

describe("LineReader", () => {
  it("finds the same lines however the bytes are chopped up", () => {
    const text = FastCheck.array(FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.constant("\n")))
    FastCheck.assert(
      FastCheck.property(text, FastCheck.array(FastCheck.nat(5), { minLength: 1 }), (parts, sizes) => {
        const bytes = Buffer.from(`${parts.join("")}\nthe end is not a line`)
        const chunks: Array<Buffer> = []
        for (let from = 0, index = 0; from < bytes.length; index += 1) {
          const size = sizes[index % sizes.length]! + 1
          chunks.push(bytes.subarray(from, from + size))
          from += size
        }
        assert.deepStrictEqual(read(chunks).lines, bytes.toString().split("\n").slice(0, -1))
      })
    )
  })

  it("gives up a line that is too long, and says so", () => {
    const { lines, overflows } = read(
      ["a\n", "b".repeat(600), "b".repeat(600), "c\nd\n"].map((each) => Buffer.from(each))
    )
    assert.deepStrictEqual(lines, ["a", "c", "d"])
    assert.strictEqual(overflows, 1)
  })
})
