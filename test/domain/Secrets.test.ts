import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Secrets } from "../../src/index.js"

const scrub = (...secrets: ReadonlyArray<Secrets.Text>) => Secrets.scrub(Secrets.make(secrets))

describe("scrub", () => {
  it("hides a secret in every common spelling", () => {
    const hide = scrub('pa"ss wörd')
    assert.strictEqual(hide('near pa"ss wörd!'), "near [redacted]!")
    assert.strictEqual(hide(JSON.stringify({ a: 'pa"ss wörd' })), '{"a":"[redacted]"}')
    assert.strictEqual(hide(`?k=${encodeURIComponent('pa"ss wörd')}&x`), "?k=[redacted]&x")
    assert.strictEqual(hide("?k=pa%22ss+w%c3%b6rd"), "?k=[redacted]")
    assert.notInclude(
      hide(`Basic ${Buffer.from('me:pa"ss wörd').toString("base64")}`),
      Buffer.from("ss wörd").toString("base64").slice(0, 6)
    )
  })

  it("joins what touches and keeps what is between", () => {
    assert.strictEqual(scrub("aaaa", "bbbb")("aaaabbbb-aaaaaaaa-bbbb"), "[redacted]-[redacted]-[redacted]")
  })

  it("takes another placeholder when a secret looks like the usual one", () => {
    assert.strictEqual(scrub("redacted")("it was redacted"), "it was █")
    assert.strictEqual(scrub("redacted", "████")("redacted"), "▉")
  })

  it("leaves escapes alone that only look like one", () => {
    assert.strictEqual(scrub("secret")("%E0%A4%A and %ff and \\q"), "%E0%A4%A and %ff and \\q")
    assert.strictEqual(scrub("secret")("%ed%a0%80 secret"), "%ed%a0%80 [redacted]")
    assert.strictEqual(scrub("secret")("100%ed%a0%80%73ecret"), "100%ed%a0%80[redacted]")
  })

  it("finds base64 that is broken into lines", () => {
    const long = `sk-live-${"abcdefghijklmnopqrstuvwxyz0123456789".repeat(2)}`
    const wrapped = Buffer.from(`user:${long}`)
      .toString("base64")
      .replaceAll(/(.{20})/g, "$1\n")
    assert.notInclude(scrub(long)(wrapped).replaceAll("\n", ""), Buffer.from(long).toString("base64").slice(4, 40))
    assert.include(scrub(long)(JSON.stringify(wrapped)), "[redacted]")
  })

  it("sees through what a terminal does not show (security L1)", () => {
    const clean = scrub("hunter2-hunter2")
    const esc = "\u001b"
    for (const between of [
      `${esc}[31m`,
      `${esc}[0;1m`,
      `${esc}]8;;https://x\u0007`,
      "\u200b",
      "\u2060",
      "\ufeff",
      "\u00ad",
      "\ufe0f",
      "\u{e01f5}",
      "\u{e0041}",
      "\u202e",
      "\u2066",
      "\u034f",
      "\u0000",
      "\u0008",
      "\u009b31m"
    ]) {
      const shown = clean(`a hunter2${between}-hunter2 b`)
      assert.notInclude(shown, "hunter2", JSON.stringify(between))
      assert.strictEqual(shown.slice(0, 2) + shown.slice(-2), "a  b")
    }
    assert.strictEqual(clean(`${esc}[31mred${esc}[0m`), `${esc}[31mred${esc}[0m`)
  })

  it("reads escapes of JSON in any case", () => {
    assert.strictEqual(scrub("sec\tret")("x sec\\tret \\u0073ec\\u0009ret y"), "x [redacted] [redacted] y")
  })
})

describe("a set of secrets", () => {
  it("knows each once, whoever named it", () => {
    const both = Secrets.union(Secrets.make(["one-secret"]), Secrets.make([Redacted.make("one-secret"), "two-secret"]))
    assert.deepStrictEqual(
      both.values.map((value) => Redacted.value(value)),
      ["one-secret", "two-secret"]
    )
  })

  it("takes URLs that cannot be decoded as they are", () => {
    assert.deepStrictEqual(
      [...Secrets.ofUrl("http://h/?k=%E0%A4%A")].filter((part) => part !== ""),
      Array.from({ length: 6 }, () => "%E0%A4%A")
    )
    assert.deepStrictEqual([...Secrets.ofUrl("no url")], [])
  })
})
