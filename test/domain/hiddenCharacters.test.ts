import { assert, describe, it } from "@effect/vitest"
import { escapeHidden, hasHidden, invisible } from "../../src/domain/internal/hiddenCharacters.js"

describe("hidden characters", () => {
  it("are control and format characters, fillers and unusual spaces, and nothing visible", () => {
    for (const text of [
      "\u0000",
      "\n",
      "\u009b",
      "\u00ad",
      "\u200b",
      "\u2066",
      "\u2028",
      "\u3164",
      "\ud800",
      "\u{e0041}"
    ])
      assert.isTrue(hasHidden(`a${text}b`), JSON.stringify(text))
    for (const text of ["", "a b", "naïve", "日本語", "😀", "a-b_c.d/e@1", "עברית"])
      assert.isFalse(hasHidden(text), text)
  })

  it("include every ignorable character, assigned or not, and no visible format character", () => {
    const one = new RegExp(`^${invisible}$`, "u")
    for (const text of ["\u2065", "\ufff0", "\u{e0002}", "\u{e01f0}", "\u034f", "\u115f", "\u2800", "\ufe0f"]) {
      assert.isTrue(hasHidden(text) && one.test(text), JSON.stringify(text))
    }
    for (const text of ["\u0601", "\u06dd", "\u{110bd}"]) assert.isFalse(hasHidden(text) || one.test(text))
  })

  it("are escaped by name or number; others are kept", () => {
    assert.strictEqual(escapeHidden("a\r\n\tb \u202ec\u{e0041}"), "a\\r\\n\\tb \\u{202e}c\\u{e0041}")
  })
})
