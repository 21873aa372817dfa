import { assert, describe, it } from "@effect/vitest"
import { escapeHidden, hasHidden } from "../../src/domain/hiddenCharacters.js"

describe("hidden characters", () => {
  it("are control and format characters, fillers and unusual spaces, and nothing that can be seen", () => {
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

  it("are escaped by name or number, the others stay (security L4)", () => {
    assert.strictEqual(escapeHidden("a\r\n\tb \u202ec\u{e0041}"), "a\\r\\n\\tb \\u{202e}c\\u{e0041}")
  })
})
