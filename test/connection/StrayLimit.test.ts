import { assert, describe, it } from "@effect/vitest"
import * as StrayLimit from "../../src/connection/wire/StrayLimit.js"

const exceededAfter = (lines: number, bytes: number, everyMillis: number): number | undefined => {
  let time = 0
  const limit = StrayLimit.make(() => time)
  for (let line = 1; line <= lines; line += 1) {
    time += everyMillis
    if (limit.count(bytes)) return line
  }
  return undefined
}

describe("StrayLimit", () => {
  it("is exceeded by a server that writes without pause", () => {
    assert.strictEqual(exceededAfter(1_000_000, 0, 0), StrayLimit.maxStrayLines + 1)
    assert.isBelow(exceededAfter(1_000_000, 100, 0.01)!, 200_000)
  })

  it("counts a long line as several lines", () => {
    assert.isBelow(exceededAfter(1000, 1_000_000, 0)!, 110)
  })

  it("is not exceeded by a server that writes much at once or little for ever", () => {
    assert.isUndefined(exceededAfter(StrayLimit.maxStrayLines, 100, 0))
    assert.isUndefined(exceededAfter(2_000_000, 200, 1))
  })
})
