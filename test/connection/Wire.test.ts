import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { hasTooManyValues } from "../../src/connection/Wire.js"
import { runs } from "../laws/runs.js"

/** Separators that mean something: one for each object and array, and one between two of their values. */
const countOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const inner: ReadonlyArray<unknown> = Object.values(value)
  return 1 + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, each) => sum + countOf(each), 0)
}

describe("a text with too many values (security M2)", () => {
  it("is told from one with many characters", () => {
    assert.isTrue(hasTooManyValues(`[${"[],".repeat(1_000_000)}0]`))
    assert.isFalse(hasTooManyValues(JSON.stringify([",[{".repeat(1_000_000)])))
    assert.isFalse(hasTooManyValues(JSON.stringify(['\\",\\\\",'.repeat(1_000_000)])))
    assert.isFalse(hasTooManyValues(`"${"x".repeat(3_000_000)}`))
  })

  it("is recognised by what stands outside its strings", () =>
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 1, max: 20 }), (value, limit) => {
        const text = JSON.stringify(value)
        assert.strictEqual(hasTooManyValues(text, limit), countOf(JSON.parse(text)) > limit)
      }),
      runs(500)
    ))
})
