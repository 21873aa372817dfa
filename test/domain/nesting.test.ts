import { assert, describe, it } from "@effect/vitest"
import { isDeeper } from "../../src/domain/isDeeper.js"
import { scrubDeep } from "../../src/domain/scrubDeep.js"

/** So many objects, one within the other. */
const nested = (levels: number, inmost: unknown = 1): unknown => {
  let value = inmost
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { a: value, b: null } : [value]
  return value
}

describe("isDeeper", () => {
  it("counts objects and lists, and nothing else", () => {
    for (const plain of [1, "x", null, undefined]) assert.isFalse(isDeeper(plain, 0))
    assert.isTrue(isDeeper({}, 0))
    assert.isFalse(isDeeper(nested(5), 5))
    assert.isTrue(isDeeper(nested(6), 5))
    assert.isTrue(isDeeper(nested(5, {}), 5))
  })

  it("looks into what no stack could", () => assert.isTrue(isDeeper(nested(100_000), 99_999)))
})

describe("scrubDeep", () => {
  const scrub = (text: string) => text.replaceAll("secret", "*")

  it("hides texts and keys, wherever they are, and leaves the rest", () => {
    assert.deepStrictEqual(scrubDeep({ "a secret": ["secret", 1, null, { b: "my secret" }] }, scrub), {
      "a *": ["*", 1, null, { b: "my *" }]
    })
    assert.strictEqual(scrubDeep("secret", scrub), "*")
  })

  it("gives nothing of what is too deep to be looked at", () => {
    assert.notInclude(JSON.stringify(scrubDeep(nested(60, "secret"), scrub)), "secret")
    assert.include(JSON.stringify(scrubDeep(nested(50, "plain"), scrub)), "plain")
  })
})
