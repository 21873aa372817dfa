import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Content } from "../../src/index.js"

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string({ unit: fc.constantFrom("a", "é", "🔑", "\n") }) }),
  fc.record({
    type: fc.constantFrom("image", "audio", "resource", "resource_link", "video", ""),
    mimeType: fc.string()
  }),
  fc.anything()
)

const isWellFormed = (text: string) => Buffer.from(text).toString() === text

describe("formatContent", () => {
  it("renders all content", () =>
    fc.assert(fc.property(fc.array(block), (content) => assert.isString(Content.formatContent(content)))))

  it("is never longer than the limit, including the notice", () =>
    fc.assert(
      fc.property(fc.array(block), fc.nat({ max: 200 }), (content, limit) => {
        assert.isTrue(Content.formatContent(content, { limit }).length <= limit)
      })
    ))

  it("does not cut a text that fits", () =>
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const whole = texts.join("\n")
        const content = texts.map((text) => ({ type: "text", text }))
        assert.strictEqual(Content.formatContent(content, { limit: whole.length }), whole)
      })
    ))

  it("never cuts inside a code point", () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "é", "🔑"), maxLength: 60 }),
        fc.nat({ max: 130 }),
        (text, limit) => {
          assert.isTrue(isWellFormed(Content.formatContent([{ type: "text", text }], { limit })))
        }
      )
    ))

  it("states exactly how much is missing", () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "🔑"), minLength: 60 }),
        fc.integer({ min: 40, max: 60 }),
        (text, limit) => {
          const shown = Content.formatContent([{ type: "text", text }], { limit })
          const [, missing] = /\n\[… (\d+) more characters\]$/.exec(shown) ?? []
          const kept = shown.slice(0, shown.lastIndexOf("\n["))
          if (missing === undefined) assert.strictEqual(shown, text)
          else assert.strictEqual(kept.length + Number(missing), text.length)
        }
      )
    ))
})
