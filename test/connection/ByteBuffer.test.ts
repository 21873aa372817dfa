import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as ByteBuffer from "../../src/connection/wire/ByteBuffer.js"
import { heldBytes } from "../live/support/memory.js"
import { runs } from "../laws/runs.js"

const pieces = fc.array(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)))

describe("a buffer of several chunks", () => {
  it("returns all bytes in order, also when it is reused", () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 4 }), (rounds) => {
        const buffer = ByteBuffer.make()
        for (const each of rounds) {
          const before = Buffer.concat(each).toString("hex")
          for (const piece of each) buffer.add(piece)
          assert.strictEqual(buffer.size(), Buffer.concat(each).length)
          assert.strictEqual(buffer.take().toString("hex"), before)
          // the buffer does not write to added chunks
          assert.strictEqual(Buffer.concat(each).toString("hex"), before)
          assert.strictEqual(buffer.size(), 0)
        }
      }),
      runs(200)
    )
  })

  it("returns a single chunk without copying it", () => {
    const buffer = ByteBuffer.make()
    const piece = Buffer.from("whole")
    buffer.add(piece)
    assert.strictEqual(buffer.take(), piece)
  })

  it("uses little more memory than the bytes it holds, however small the chunks are", () => {
    const buffer = ByteBuffer.make()
    const before = heldBytes()
    // like an HTTP body in chunks of one byte, each with its own view
    for (let count = 0; count < 500_000; count += 1) buffer.add(Buffer.from(new ArrayBuffer(8), 0, 1))
    assert.isBelow(heldBytes() - before, 4_000_000)
    assert.strictEqual(buffer.take().length, 500_000)
  })
})
