import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import * as Payload from "../../src/control/Payload.js"

const decode = Schema.decodeUnknownEither(Schema.parseJson(Payload.Call))
const encode = Schema.encodeEither(Schema.parseJson(Payload.Call))

describe("the arguments of a call", () => {
  it("keep every name, also one that JavaScript treats specially", () => {
    const text = '{"arguments":{"__proto__":{"a":1},"constructor":2,"b":[3]}}'
    assert.deepStrictEqual(Either.flatMap(decode(text), encode), Either.right(text))
  })

  for (const [kind, text] of [
    ["a list", "[]"],
    ["null", "null"],
    ["a text", '"a"']
  ] as const) {
    it(`cannot be ${kind}`, () => assert.isTrue(Either.isLeft(decode(`{"arguments":${text}}`))))
  }
})
