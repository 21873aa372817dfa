import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { revealHidden } from "../../src/cli/terminal/invisible.js"
import { plain } from "../../src/cli/terminal/style.js"
import { harmless, oneLine, visible } from "../../src/cli/terminal/table.js"

describe("hidden characters", () => {
  it("shows bidirectional, zero-width and tag characters as code points", () => {
    assert.strictEqual(oneLine("git\u202ebuh"), "git<U+202E>buh")
    assert.strictEqual(oneLine("a\u2066b\u200bc\u{e0041}d\ufeffe"), "a<U+2066>b<U+200B>c<U+E0041>d<U+FEFF>e")
    assert.strictEqual(harmless("pass\u200dword\n\u061cx\u2028y", plain), "pass<U+200D>word\n<U+061C>x<U+2028>y")
    assert.strictEqual(revealHidden("x\u3164\u115f\u034f\u2800"), "x<U+3164><U+115F><U+034F><U+2800>")
  })

  it("shows bytes that are smuggled in variation selectors", () => {
    assert.strictEqual(revealHidden("a\ufe01\u{e0101}"), "a<U+FE01><U+E0101>")
    assert.strictEqual(revealHidden("🙂\ufe0f\u{e0101}\u{e0102}"), "🙂\ufe0f<U+E0101><U+E0102>")
  })

  it("shows ignorable characters that are not assigned yet", () => {
    assert.strictEqual(
      revealHidden("a\u2065b\ufff0c\u{e0002}d\u{e01f0}e\u{e0fff}"),
      "a<U+2065>b<U+FFF0>c<U+E0002>d<U+E01F0>e<U+E0FFF>"
    )
  })

  it("shows selectors behind digits that are no keycap", () => {
    assert.strictEqual(revealHidden("1\ufe0f2\ufe0e#\ufe0f*\ufe0f"), "1<U+FE0F>2<U+FE0E>#<U+FE0F>*<U+FE0F>")
    assert.strictEqual(revealHidden("1\u200d☺"), "1<U+200D>☺")
    assert.strictEqual(revealHidden("#\ufe0f\u20e3 1\u20e3"), "#\ufe0f\u20e3 1\u20e3")
  })

  it("shows bytes that are smuggled in the selectors of ideographs, one each", () => {
    assert.strictEqual(
      revealHidden("漢\u{e0101}字\u{e0102}漢\u{e0103}字\ufe01"),
      "漢\u{e0101}字<U+E0102>漢<U+E0103>字<U+FE01>"
    )
    assert.strictEqual(revealHidden("葛\u{e0100}城と葛\u{e0101}"), "葛\u{e0100}城と葛\u{e0101}")
  })

  it("leaves emoji sequences as they are", () => {
    for (const text of ["👩‍👩‍👧", "❤️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "1️⃣", "#⃣", "👍🏽", "👁️‍🗨️", "🏋🏽‍♂️", "🏳️‍🌈", "☺︎"])
      assert.strictEqual(revealHidden(text), text)
  })

  it("shows more marks on one letter than a script needs", () => {
    const shown = revealHidden(`a${"\u0301".repeat(10)}b`)
    assert.strictEqual(shown, `a${"\u0301".repeat(8)}<U+0301><U+0301>b`)
  })

  it("leaves ordinary scripts as they are", () => {
    for (const text of [
      // A joiner at the end of a word: Malayalam, Persian, Hindi.
      "ക്\u200d",
      "ه\u200d",
      "क्\u200d ष",
      "نمی‌خواهم",
      "क्‍ष",
      "ශ්‍රී",
      "עברית",
      "日本語",
      "葛\u{e0100}",
      "Ελληνικά",
      "ไทย",
      "한국어",
      "\u0601١٢"
    ]) {
      assert.strictEqual(revealHidden(text), text)
    }
  })

  it("keeps JSON exact while it shows no hidden character", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary" }), (text) => {
        const shown = visible(JSON.stringify({ text }))
        assert.deepStrictEqual(JSON.parse(shown), { text })
        assert.strictEqual(revealHidden(shown), shown)
      })
    )
    assert.strictEqual(visible(JSON.stringify("a\u202e\u{e0041}")), `"a\\u202e\\udb40\\udc41"`)
  })
})
