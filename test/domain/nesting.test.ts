import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { isDeeper, maxDepth } from "../../src/domain/internal/isDeeper.js"
import { scrubDeep } from "../../src/domain/internal/scrubDeep.js"

/** A number of nested objects. */
const nested = (levels: number, inmost: unknown = 1): unknown => {
  let value = inmost
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { a: value, b: null } : [value]
  return value
}

const depthOf = (value: unknown): number =>
  typeof value !== "object" || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf))

describe("isDeeper", () => {
  it("counts objects and lists, and nothing else", () => {
    for (const plain of [1, "x", null, undefined]) assert.isFalse(isDeeper(plain, 0))
    assert.isTrue(isDeeper({}, 0))
    assert.isFalse(isDeeper(nested(5), 5))
    assert.isTrue(isDeeper(nested(6), 5))
    assert.isTrue(isDeeper(nested(5, {}), 5))
  })

  it("checks values that are nested too deep for the stack", () => assert.isTrue(isDeeper(nested(100_000), 99_999)))

  it("ends for circular values and for very wide ones", () => {
    const endless: Record<string, unknown> = {}
    endless.a = endless
    endless.b = [endless]
    assert.isTrue(isDeeper(endless, maxDepth))
    assert.isTrue(isDeeper(endless, 5_000))
    const wide = Array.from({ length: 1_100_000 }, () => [])
    assert.isFalse(isDeeper(wide, 2))
    assert.isTrue(isDeeper([wide], 2))
  })

  it("ends for values with shared parts", () => {
    let shared: unknown = 1
    for (let level = 0; level < 60; level++) shared = level % 2 === 0 ? [shared, shared] : { a: shared, b: shared }
    assert.isFalse(isDeeper(shared, 60))
    assert.isTrue(isDeeper([shared], 60))
  })

  it("agrees with the number of levels, whatever other values there are", () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(20), fc.nat(25), (beside, levels, limit) => {
        const value = nested(levels, 1)
        const depth = levels === 0 ? 0 : Math.max(levels, 1 + depthOf(beside))
        const mixed =
          levels === 0 ? value : Array.isArray(value) ? [beside, ...value] : { beside, ...(value as object) }
        assert.strictEqual(isDeeper(mixed, limit), depth > limit)
      })
    ))
})

describe("scrubDeep", () => {
  const scrub = (text: string) => text.replaceAll("secret", "*")

  it("hides secrets in texts and keys at any depth, and keeps the rest", () => {
    assert.deepStrictEqual(scrubDeep({ "a secret": ["secret", 1, null, { b: "my secret" }] }, scrub), {
      "a *": ["*", 1, null, { b: "my *" }]
    })
    assert.strictEqual(scrubDeep("secret", scrub), "*")
  })

  it("omits what is nested too deep", () => {
    assert.notInclude(JSON.stringify(scrubDeep(nested(60, "secret"), scrub)), "secret")
    assert.include(JSON.stringify(scrubDeep(nested(50, "plain"), scrub)), "plain")
    assert.notInclude(JSON.stringify(scrubDeep(nested(51, "plain"), scrub)), "plain")
    assert.notInclude(JSON.stringify(scrubDeep(nested(100_000, "plain"), scrub)), "plain")
  })

  it("marks what it omits for lack of room", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `text ${index}`)
    const list = scrubDeep(many, scrub, { left: 100 }) as ReadonlyArray<string>
    assert.isBelow(list.length, 20)
    assert.deepStrictEqual([list[0], list.at(-1)], ["text 0", "…"])
    const record = scrubDeep(Object.fromEntries(many.map((key) => [key, 1])), scrub, { left: 100 })
    assert.isBelow(JSON.stringify(record).length, 200)
    assert.propertyVal(record, "…", "…")
    for (const left of [12, 13]) {
      assert.deepStrictEqual(scrubDeep([["a"], "b"], scrub, { left }), [["a"], "…"])
      assert.deepStrictEqual(scrubDeep({ abcd: "", b: 1 }, scrub, { left: left - 1 }), { abcd: "", "…": "…" })
    }
    assert.deepStrictEqual(scrubDeep([["a"], "b"], scrub, { left: 14 }), [["a"], "b"])
  })
})
