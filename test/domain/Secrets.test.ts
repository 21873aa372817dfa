import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { viewsOf } from "../../src/domain/Secrets/view.js"
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

  it("merges adjacent secrets and keeps the text between others", () => {
    assert.strictEqual(scrub("aaaa", "bbbb")("aaaabbbb-aaaaaaaa-bbbb"), "[redacted]-[redacted]-[redacted]")
  })

  it("uses another placeholder when a secret looks like the usual one", () => {
    assert.strictEqual(scrub("redacted")("it was redacted"), "it was █")
    assert.strictEqual(scrub("redacted", "████")("redacted"), "▉")
  })

  it("uses another placeholder when the usual one would complete a secret", () => {
    assert.strictEqual(scrub("hunter22", "]abc")("hunter22abc"), "█abc")
    assert.strictEqual(scrub("hunter22", "d]abc")("hunter22abc"), "█abc")
    assert.strictEqual(scrub("hunter22", "abc[")("abchunter22"), "abc█")
    assert.strictEqual(scrub("hunter22", "abc[re")("abchunter22"), "abc█")
    assert.strictEqual(scrub("hunter22", "a[]b")("a[hunter22]b"), "a[[redacted]]b")
  })

  it("finds an encoded secret after text that reads as an escape", () => {
    assert.strictEqual(scrub("abcü-d")("%1abc%c3%bc-d"), "%1[redacted]")
    assert.strictEqual(scrub("abcü-d")("%1abc%C3%BC-d"), "%1[redacted]")
  })

  it("finds a secret in which more is escaped than necessary", () => {
    assert.strictEqual(scrub("one+one two")("?k=%6fne%2Bone+two&x"), "?k=[redacted]&x")
  })

  it("keeps the text around a secret of which every character is escaped", () => {
    for (const escape of [
      (byte: string) => `%${byte}`,
      (byte: string) => `%25${byte}`,
      (byte: string) => `\\u00${byte}`,
      (byte: string) => `\\\\u00${byte}`
    ]) {
      const escaped = Array.from("hunter22", (char) => escape(char.charCodeAt(0).toString(16))).join("")
      assert.strictEqual(scrub("hunter22")(`user=${escaped}&more`), "user=[redacted]&more")
    }
  })

  it("decodes a text once in each way that gives a different result", () => {
    const readings = (text: string) => viewsOf(text).map((view) => view.text)
    assert.deepStrictEqual(readings("nothing is escaped here"), ["nothing is escaped here"])
    assert.deepStrictEqual(readings("%41+b"), ["%41+b", "A+b", "A b"])
  })

  it("decodes up to three levels of encoding", () => {
    assert.strictEqual(scrub("top-secret")("%252574op-secret"), "[redacted]")
    assert.strictEqual(scrub("top-secret")("%25252574op-secret"), "%25252574op-secret")
  })

  it("does not hide a value that is too short without its byte order mark", () => {
    assert.strictEqual(scrub("\ufeffabc")("abc and \ufeffabc"), "abc and [redacted]")
  })

  it("keeps text that only looks like an escape", () => {
    assert.strictEqual(scrub("secret")("%E0%A4%A and %ff and \\q"), "%E0%A4%A and %ff and \\q")
    assert.strictEqual(scrub("secret")("%ed%a0%80 secret"), "%ed%a0%80 [redacted]")
    assert.strictEqual(scrub("secret")("100%ed%a0%80%73ecret"), "100%ed%a0%80[redacted]")
  })

  it("finds base64 that is split into lines", () => {
    const long = `sk-live-${"abcdefghijklmnopqrstuvwxyz0123456789".repeat(2)}`
    const wrapped = Buffer.from(`user:${long}`)
      .toString("base64")
      .replaceAll(/(.{20})/g, "$1\n")
    assert.notInclude(scrub(long)(wrapped).replaceAll("\n", ""), Buffer.from(long).toString("base64").slice(4, 40))
    assert.include(scrub(long)(JSON.stringify(wrapped)), "[redacted]")
  })

  it("finds a secret that contains characters which a terminal does not show", () => {
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

  it("decodes JSON escapes in lower and upper case", () => {
    assert.strictEqual(scrub("sec\tret")("x sec\\tret \\u0073ec\\u0009ret y"), "x [redacted] [redacted] y")
    assert.strictEqual(scrub("secret")("x \\U0073ecret y"), "x [redacted] y")
  })
})

describe("a set of secrets", () => {
  it("contains each secret once, also if it is given several times", () => {
    const both = Secrets.union(Secrets.make(["one-secret"]), Secrets.make([Redacted.make("one-secret"), "two-secret"]))
    assert.deepStrictEqual(
      both.values.map((value) => Redacted.value(value)),
      ["one-secret", "two-secret"]
    )
  })

  const valuesOf = (...texts: ReadonlyArray<string>) => Secrets.make(texts).values.map((value) => Redacted.value(value))

  it("contains a secret without the spaces around it", () => {
    assert.deepStrictEqual(valuesOf("  hunter22\t"), ["  hunter22\t", "hunter22"])
    assert.include(valuesOf("\u00a0https://me:hunter22@host/\u00a0"), "hunter22")
    assert.include(valuesOf("https://host/?key=hunter22\u00a0"), "hunter22")
  })

  it("contains each line of a secret with several lines", () => {
    assert.deepStrictEqual(valuesOf("first-line\r\n\nother-line\n"), [
      "first-line\r\n\nother-line\n",
      "first-line\r\n\nother-line",
      "first-line",
      "other-line"
    ])
  })

  it("contains the value of a header line and the credential in it", () => {
    assert.deepStrictEqual(valuesOf("X-Key:  hunter22 \u00e9t\u00e9"), [
      "X-Key:  hunter22 \u00e9t\u00e9",
      "hunter22 \u00e9t\u00e9"
    ])
    assert.deepStrictEqual(valuesOf("Authorization: Bearer  hunter22"), [
      "Authorization: Bearer  hunter22",
      "Bearer  hunter22",
      "hunter22"
    ])
    assert.deepStrictEqual(valuesOf("basic hunter22"), ["basic hunter22", "hunter22"])
  })

  it("does not treat a sentence as a header or a credential", () => {
    assert.deepStrictEqual(valuesOf("please note: nothing"), ["please note: nothing"])
    assert.deepStrictEqual(valuesOf("a token nothing"), ["a token nothing"])
  })

  it("contains the password of a pair, but no port", () => {
    assert.deepStrictEqual(valuesOf("me:7heaven"), ["me:7heaven", "7heaven"])
    assert.deepStrictEqual(valuesOf("localhost:8080"), ["localhost:8080"])
  })

  it("contains the secrets of a URL as written, as sent, and decoded", () => {
    const partsOf = (url: string) => [...new Set(Secrets.ofUrl(url))].filter((part) => part !== "").sort()
    assert.deepStrictEqual(partsOf("https://user\tone:hunt\ter22@host/"), [
      "hunt\ter22",
      "hunter22",
      "user\tone",
      "userone"
    ])
    assert.deepStrictEqual(partsOf("https://user\tone@host/"), ["user\tone", "userone"])
    assert.deepStrictEqual(partsOf("https://host/?hunt\ter22&k=a+b%20c#d"), [
      "a b c",
      "a+b c",
      "a+b%20c",
      "hunt\ter22",
      "hunter22"
    ])
    assert.deepStrictEqual(partsOf("https://me:p%C3%A4ss@host/"), ["me", "p%C3%A4ss", "päss"])
  })

  it("contains no part of the address of a URL", () => {
    assert.deepStrictEqual([...new Set(Secrets.ofUrl("https://host/go//user:hunter22@other/"))], [""])
  })

  it("contains a URL that cannot be decoded unchanged", () => {
    assert.deepStrictEqual(
      [...Secrets.ofUrl("http://h/?k=%E0%A4%A")].filter((part) => part !== ""),
      Array.from({ length: 6 }, () => "%E0%A4%A")
    )
    assert.deepStrictEqual([...Secrets.ofUrl("no url")], [])
  })
})

describe("the secrets of a command line", () => {
  const secretsOf = (...args: ReadonlyArray<Secrets.Text>) =>
    [...Secrets.ofArguments(args)].filter((part) => part !== "")

  it("are found after flags, in variables, in URLs, and where the config marks them", () => {
    assert.deepStrictEqual(secretsOf("--token", "hunter22", "-v", "files"), ["hunter22"])
    assert.deepStrictEqual(secretsOf("--api-key=7hunt\ner=22"), ["7hunt\ner=22"])
    assert.deepStrictEqual(secretsOf("-e", "NAME=hunt=er\n22", "--env=OTHER=hunter33"), ["hunt=er\n22", "hunter33"])
    assert.deepStrictEqual([...new Set(secretsOf("--to=https://me:hunter22@host/"))], ["me", "hunter22"])
    const hidden = Redacted.make("hunter22")
    assert.deepStrictEqual(secretsOf(hidden, "files"), [hidden])
  })

  it("include the whole key after a flag, also if it looks like a variable", () => {
    assert.include(secretsOf("--api-key=c2VjcmV0MTIzNA=="), "c2VjcmV0MTIzNA==")
    assert.include(secretsOf("--token=abcd=efgh"), "abcd=efgh")
    assert.include(secretsOf("--token", "abcd=efgh"), "abcd=efgh")
  })

  it("are not found after words that only begin like a flag", () => {
    assert.deepStrictEqual(secretsOf("--token is what it needs", "files"), [])
    assert.deepStrictEqual(secretsOf("--token"), [])
  })
})
