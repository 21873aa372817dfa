import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { scanMessage } from "../../src/connection/wire/scanMessage.js"
import { runs } from "../laws/runs.js"

const scan = (text: string, awaited: ReadonlyArray<unknown> = [], limit = Number.POSITIVE_INFINITY) =>
  scanMessage(Buffer.from(text), limit, (id) => awaited.includes(id))

const countOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 1
  const inner: ReadonlyArray<unknown> = Object.values(value)
  const keys = Array.isArray(value) ? 0 : inner.length
  return 1 + keys + inner.reduce<number>((sum, each) => sum + countOf(each), 0)
}

/** Texts with special characters and words, and other texts. */
const word = fc.oneof(
  fc.constantFrom("id", "method", "result", '"', "\\", '\\"', "{", "]", ",", ":", "é", "x".repeat(100)),
  fc.fullUnicodeString()
)
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.integer(),
    fc.constantFrom(null, true, 1.5e-7),
    fc.array(tie("value")),
    fc.dictionary(word, tie("value"))
  )
})).value

const message = fc.record(
  { id: fc.oneof(fc.integer(), word, fc.constant(null)), method: word, params: json, result: json },
  { requiredKeys: [] }
)

/** A message with its keys in another order. */
const shuffled = message.chain((each) =>
  fc
    .shuffledSubarray(Object.keys(each), { minLength: Object.keys(each).length })
    .map((keys) => Object.fromEntries(keys.map((key) => [key, each[key as keyof typeof each]])))
)

const space = fc.constantFrom("", " ", "  ", "\t")

/** Escapes every character of the keys. */
const escaped = (text: string) =>
  text.replaceAll(
    /"(id|method)"/g,
    (_, key: string) => `"${Array.from(key, (each) => `\\u00${each.charCodeAt(0).toString(16)}`).join("")}"`
  )

const envelopeOf = ({ id, method }: { readonly [key: string]: unknown }) => ({
  id: typeof id === "string" || typeof id === "number" ? id : undefined,
  method: method === undefined ? undefined : String(method)
})

describe("scanMessage", () => {
  it("counts values and keys", () => {
    assert.strictEqual(scan("[[],[]]").values, 3)
    assert.strictEqual(scan("[ [ ] , { } ]").values, 3)
    assert.strictEqual(scan('{"a":{"b":1}}').values, 5)
    assert.strictEqual(scan(JSON.stringify([",[{:".repeat(1000)])).values, 2)
    fc.assert(
      fc.property(json, space, (value, indent) => {
        assert.strictEqual(
          scan(JSON.stringify(value, undefined, indent)).values,
          countOf(JSON.parse(JSON.stringify(value)))
        )
      }),
      runs(500)
    )
  })

  it("stops at the limit", () => {
    const { values } = scan(`[${"[],".repeat(100_000)}0]`, [], 1000)
    assert.strictEqual(values, 1001)
  })

  it("finds id and method, wherever they stand and however they are escaped", () => {
    fc.assert(
      fc.property(shuffled, space, fc.boolean(), (each, indent, isEscaped) => {
        const text = JSON.stringify(each, undefined, indent)
        const { envelopes } = scan(isEscaped ? escaped(text) : text)
        assert.deepStrictEqual(envelopes, [envelopeOf(JSON.parse(text))])
      }),
      runs(500)
    )
  })

  it("finds id and method of all messages of a batch", () => {
    fc.assert(
      fc.property(fc.array(shuffled, { minLength: 1, maxLength: 5 }), space, (batch, indent) => {
        const text = JSON.stringify(batch, undefined, indent)
        assert.deepStrictEqual(scan(text).envelopes, (JSON.parse(text) as typeof batch).map(envelopeOf))
      }),
      runs(200)
    )
    assert.strictEqual(scan(`[${"{},".repeat(1000)}{}]`).envelopes.length, 64)
  })

  it("recognises the response to a pending request by its id and the missing method", () => {
    const awaits = (text: string) => scan(text, [5, "call-1"]).isAwaited
    assert.isTrue(awaits('{"result":{"id":7,"method":"x"},"id":5}'))
    assert.isTrue(awaits('{"id" : "call-1"}'))
    assert.isTrue(awaits('{"id":7,"id":5}'))
    assert.isTrue(awaits('\ufeff [{"method":"x"},{"id":5}]'))
    assert.isFalse(awaits('{"id":"5"}'))
    assert.isFalse(awaits('{"id":5,"id":7}'))
    assert.isFalse(awaits('{"id":5,"params":{},"method":"x"}'))
    assert.isFalse(awaits('{"id":5,"method":null}'))
    assert.isFalse(awaits('{"result":{"id":5}}'))
    assert.isFalse(awaits('[{"id":5,"method":"x"},[{"id":5}]]'))
  })

  it("ends for all bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('"', "\\", "{", "}", "[", "]", ":", ",", "id", "5", " ")), (parts) => {
        scan(parts.join(""))
      }),
      runs(500)
    )
  })
})
