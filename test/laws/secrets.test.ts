import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Redacted } from "effect"
import { Secrets } from "../../src/index.js"
import { runs } from "./runs.js"

/** Hard cases: texts like escapes, texts like placeholders, repetitions. */
const awkward = fc.constantFrom(
  "redacted",
  "[redacted]",
  "[red",
  "ted]",
  "acte",
  "aaaa",
  "abab",
  "%41%42",
  "%%%%",
  "a%25b",
  '\\n\\"x',
  "\\\\\\\\",
  "\nabc",
  "xyz\\",
  'pa"ss\\word',
  "a b+c d",
  "████",
  "pässwörd",
  "🔑🔑🔑🔑",
  "Bearer abcdefgh",
  "line one\nline two\r\nline three"
)

const secret = fc
  .oneof(
    { arbitrary: awkward, weight: 2 },
    { arbitrary: fc.string({ minLength: 4, maxLength: 40 }), weight: 2 },
    {
      arbitrary: fc.string({
        minLength: 4,
        maxLength: 8,
        unit: fc.constantFrom("a", "b", "%", "\\", "[", "]", "2", "5")
      }),
      weight: 1
    },
    { arbitrary: fc.string({ minLength: 4, maxLength: 20, unit: "binary" }), weight: 1 }
  )
  .filter((text) => text.length >= 4)

const noise = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ maxLength: 6, unit: fc.constantFrom("a", "\\", "%", "n", "4", "1", "+") })
)

const bytes = fc.uint8Array({ maxLength: 7 })

const base64 = (before: Uint8Array, secret: string, after: Uint8Array) =>
  Buffer.concat([before, Buffer.from(secret), after]).toString("base64")

const jsonInner = (text: string) => JSON.stringify(text).slice(1, -1)

/** Escapes every byte, as a proxy may do. */
const percentAll = (text: string) =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

const scrubWith = (...secrets: ReadonlyArray<string>) => Secrets.scrub(Secrets.make(secrets))

const often = runs(2_000)

describe("scrub", () => {
  it("leaves no secret, whatever surrounds it and whatever the other secrets are", () =>
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.array(noise), (secrets, noise) => {
        const text = noise.flatMap((part, index) => [part, secrets[index % secrets.length]]).join("") + secrets.join("")
        const clean = scrubWith(...secrets)(text)
        for (const secret of secrets) assert.notInclude(clean, secret)
      }),
      often
    ))

  it("leaves no secret of several that overlap", () =>
    fc.assert(
      fc.property(secret, secret, fc.nat({ max: 40 }), (one, other, cut) => {
        const text = one.slice(0, cut) + other + one.slice(cut) + one + other.slice(0, cut) + one
        const clean = scrubWith(one, other)(text)
        assert.notInclude(clean, one)
        assert.notInclude(clean, other)
      }),
      often
    ))

  it("leaves no URL-encoded secret", () =>
    fc.assert(
      fc.property(secret, noise, noise, (secret, before, after) => {
        const whole = Buffer.from(secret).toString()
        const form = new URLSearchParams({ "": whole }).toString().slice(1)
        for (const encoded of [encodeURIComponent(whole), encodeURI(whole), form, percentAll(whole)]) {
          if (encoded.length < 4) continue
          const clean = scrubWith(whole)(before + encoded + after)
          assert.notInclude(clean, whole)
          assert.notInclude(clean, encoded)
        }
      }),
      often
    ))

  it("leaves no secret that is JSON-escaped once or twice", () =>
    fc.assert(
      fc.property(secret, noise, noise, (secret, before, after) => {
        const document = JSON.stringify({ error: `${before}${secret}${after}` })
        for (const text of [document, JSON.stringify({ body: document })]) {
          const clean = scrubWith(secret)(text)
          assert.notInclude(clean, secret)
          assert.notInclude(clean, jsonInner(secret))
          assert.notInclude(clean, jsonInner(jsonInner(secret)))
        }
      }),
      often
    ))

  it("leaves no secret inside base64, at any position, in both alphabets", () =>
    fc.assert(
      fc.property(secret, bytes, bytes, noise, noise, (secret, head, tail, before, after) => {
        const whole = Buffer.from(secret).toString()
        const encoded = base64(head, whole, tail)
        for (const text of [encoded, encoded.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")]) {
          const clean = scrubWith(whole)(`${before} ${text} ${after}`)
          // decoding the rest from any position does not reveal it
          for (const run of clean.match(/[\w+/-]+/g) ?? []) {
            for (const shift of [0, 1, 2, 3]) {
              assert.notInclude(Buffer.from(run.slice(shift), "base64").toString(), whole)
            }
          }
        }
      }),
      often
    ))

  it("leaves no secret inside the base64 of an encoded text", () =>
    fc.assert(
      fc.property(secret, bytes, bytes, (secret, head, tail) => {
        const whole = Buffer.from(secret).toString()
        for (const spelling of [encodeURIComponent(whole), JSON.stringify(whole).slice(1, -1)]) {
          if (spelling.length < 4) continue
          const clean = scrubWith(whole)(base64(head, spelling, tail))
          assert.notInclude(Buffer.from(clean.replaceAll(/[^\w+/]/g, ""), "base64").toString(), spelling)
        }
      }),
      often
    ))

  it("changes nothing the second time", () =>
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 3 }), fc.array(fc.oneof(noise, secret)), (secrets, parts) => {
        const scrub = scrubWith(...secrets)
        const clean = scrub(parts.join(""))
        assert.strictEqual(scrub(clean), clean)
      }),
      often
    ))

  it("returns a text without secrets unchanged", () =>
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("x", "y", " ", "%", "\\", "+") }), (text) => {
        assert.strictEqual(scrubWith("secret-1", "secret-2")(text), text)
      })
    ))

  it("does not hide values that are too short", () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 3 }), fc.string(), (short, text) => {
        assert.strictEqual(scrubWith(short)(text), text)
      })
    ))
})

describe("a set of secrets", () => {
  it("shows no secret when it is printed", () =>
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 12, unit: fc.constantFrom("q", "z", "7") }), { minLength: 1 }),
        (values) => {
          const secrets = Secrets.make(values.map((value) => Redacted.make(value)))
          for (const value of values) assert.notInclude(JSON.stringify(secrets) + String(secrets.values), value)
        }
      )
    ))
})
