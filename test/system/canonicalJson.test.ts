import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { canonicalJson } from "../../src/system/canonicalJson.js"

describe("canonicalJson", () => {
  it("is independent of the order of keys, and leaves out keys without a value", () => {
    assert.strictEqual(canonicalJson({ b: [{ d: 1, c: 2 }], a: null }), canonicalJson({ a: null, b: [{ c: 2, d: 1 }] }))
    assert.strictEqual(canonicalJson({ a: 1, b: undefined }), canonicalJson({ a: 1 }))
  })

  it("depends on the order of an array", () => assert.notStrictEqual(canonicalJson([1, 2]), canonicalJson([2, 1])))

  it("distinguishes an object from an array of its entries", () => {
    assert.notStrictEqual(canonicalJson({ a: 1 }), canonicalJson([["a", 1]]))
  })

  it("reveals redacted texts", () => {
    assert.strictEqual(canonicalJson({ a: Redacted.make("x") }), canonicalJson({ a: "x" }))
  })
})
