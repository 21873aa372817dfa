import { assert, describe, it } from "@effect/vitest"
import { excerpt } from "../../src/domain/internal/excerpt.js"

describe("an excerpt", () => {
  it("of at most 200 characters is the text itself", () => {
    assert.strictEqual(excerpt("a".repeat(200)), "a".repeat(200))
  })

  it("of a longer text is its beginning and its length, without half a character", () => {
    assert.strictEqual(excerpt("a".repeat(100_000)), `${"a".repeat(200)}… (100000 characters)`)
    assert.strictEqual(excerpt(`${"a".repeat(199)}😀${"b".repeat(9)}`), `${"a".repeat(199)}… (210 characters)`)
    assert.strictEqual(excerpt(`😀${"a".repeat(200)}`), `😀${"a".repeat(198)}… (202 characters)`)
  })
})
