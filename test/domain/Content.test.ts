import { assert, describe, it } from "@effect/vitest"
import { Content } from "../../src/index.js"

describe("formatContent", () => {
  it.each([
    [{ type: "text", text: "as it is" }, "as it is"],
    [{ type: "text" }, "[text]"],
    [{ type: "text", text: 5 }, "[text]"],
    [{ type: "image", mimeType: ["image/png"] }, "[Image]"],
    [{ type: "image", mimeType: "image/png", data: "AAAA" }, "[Image: image/png]"],
    [{ type: "image" }, "[Image]"],
    [{ type: "audio", mimeType: "audio/wav" }, "[Audio: audio/wav]"],
    [{ type: "resource", resource: { uri: "file:///a", text: "…" } }, "[Resource: file:///a]"],
    [{ type: "resource", uri: "file:///b" }, "[Resource: file:///b]"],
    [{ type: "resource" }, "[Resource]"],
    [{ type: "resource_link", uri: "file:///c", name: "c", title: "See" }, "[Link: See file:///c]"],
    [{ type: "resource_link", uri: "file:///c", name: "c" }, "[Link: c file:///c]"],
    [{ type: "resource_link" }, "[Link]"],
    [{ type: "hologram" }, "[hologram]"],
    [{}, "[unknown]"],
    [null, "[unknown]"],
    ["text", "[unknown]"]
  ])("renders %j as %s", (block, text) => {
    assert.strictEqual(Content.formatContent([block]), text)
  })

  it("joins blocks by newlines", () => {
    const text = (text: string) => ({ type: "text", text })
    assert.strictEqual(Content.formatContent([text("a"), text("b")]), "a\nb")
    assert.strictEqual(Content.formatContent([]), "")
  })

  it("states how much was left out", () => {
    const shown = Content.formatContent([{ type: "text", text: "x".repeat(100_001) }])
    assert.isAtMost(shown.length, 100_000)
    assert.match(shown, /x\n\[… \d+ more characters\]$/)
  })

  it("joins no more text than it shows", () => {
    const megabyte = { type: "text", text: "x".repeat(1_000_000) }
    const shown = Content.formatContent(Array.from({ length: 600 }, () => megabyte))
    assert.match(shown, /\[… 600500\d+ more characters\]$|\[… 599\d+ more characters\]$|\[… 600\d+ more characters\]$/)
  })

  it("cuts before a surrogate pair, with and without room for the notice", () => {
    assert.strictEqual(Content.truncate("🔑🔑", 3), "🔑")
    assert.strictEqual(Content.truncate("🔑", Number.NaN), "")
    assert.strictEqual(Content.truncate("🔑".repeat(20), 30), `${"🔑".repeat(3)}\n[… 34 more characters]`)
  })

  it("cuts exactly at the limit otherwise", () => {
    const units = ["a", "\ud7ff", "\ud800", "\udbff", "\udc00", "\udfff", "\ue000"]
    for (const one of units) {
      for (const other of units) {
        const isPair = Array.from(one + other).length === 1
        assert.strictEqual(Content.truncate(`${one}${other}…`, 1), isPair ? "" : one)
      }
    }
  })

  it("returns only the notice if there is no room for more", () => {
    const notice = "\n[… 100 more characters]"
    assert.strictEqual(Content.truncate("x".repeat(100), notice.length), notice)
  })
})
