import { assert, describe, it } from "@effect/vitest"
import { largest, smallest } from "../../src/domain/internal/extremes.js"

describe("the extremes of many numbers", () => {
  it("are found in lists that are too long for the arguments of a call", () => {
    const many = Array.from({ length: 500_000 }, (_, index) => index)
    assert.strictEqual(largest(many, 0), 499_999)
    assert.strictEqual(smallest(many), 0)
  })

  it("of an empty list are the given bound and infinity", () => {
    assert.strictEqual(largest([], 7), 7)
    assert.strictEqual(largest([3], 7), 7)
    assert.strictEqual(smallest([]), Infinity)
  })
})
