import { assert, describe, it } from "@effect/vitest"
import type { JsonSchema } from "../../src/domain/catalog/Protocol.js"
import * as IssueText from "../../src/supervision/calls/ArgumentCheck/issueText.js"
import { cpuMillis } from "../support/cpuTime.js"
import { type Args, issuesDespiteLoad, issuesIfUsable, issuesOf, of } from "./argumentChecks.js"

describe("an issue", () => {
  it.each<[unknown, unknown, string, string]>([
    [{ type: "string" }, 1, "a string", "a number"],
    [{ type: ["string", "null"] }, 1, "a string or null", "a number"],
    [{ type: "integer" }, 1.5, "a whole number", "a fraction"],
    [{ enum: ["x", "y"] }, "z", 'one of "x", "y"', "a string"],
    [{ const: 5 }, 6, "5", "a number"],
    [{ maxLength: 10 }, "x".repeat(11), "at most 10 characters", "a string"],
    [{ minLength: 1 }, "", "at least 1 character", "an empty string"],
    [{ minimum: 1 }, 0, "a number of at least 1", "zero"],
    [{ maximum: 1 }, 2, "a number of at most 1", "a number"],
    [{ exclusiveMinimum: 0 }, 0, "a number above 0", "zero"],
    [{ exclusiveMaximum: 0 }, 0, "a number below 0", "zero"],
    [{ multipleOf: 5 }, 6, "a multiple of 5", "a number"],
    [{ pattern: "^a$" }, "b", "a string that matches ^a$", "a string"],
    [{ minItems: 2 }, [1], "at least 2 items", "an array"],
    [{ maxItems: 1 }, [1, 2], "at most 1 item", "an array"],
    [{ prefixItems: [{}], items: false }, [1, 2], "at most 1 item", "an array"],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2], "at most 1 item", "an array"],
    [{ items: [{}], additionalItems: false }, [1, 2], "at most 1 item", "an array"],
    [{ uniqueItems: true }, [1, 1], "items that are all different", "an array"],
    [{ contains: { type: "string" } }, [1], "at least 1 item of a certain kind", "an array"],
    [{ minProperties: 1 }, {}, "at least 1 key", "an object"],
    [{ maxProperties: 0 }, { x: 1 }, "at most 0 keys", "an object"],
    [{ not: { type: "string" } }, "x", "something else", "a string"],
    [false, "x", "nothing", "a string"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, 1, "a string, or null", "a number"],
    [{ oneOf: [{ type: "number" }, { minimum: 0 }] }, 1, "only one of the alternatives", "a number"]
  ])("with %j says what is expected and what type is found", (schema, value, expected, found) => {
    assert.deepStrictEqual(issuesOf(of(schema), { a: value }), [{ path: ["a"], expected, found }])
  })

  it("has the path of the value, with indices of array items", () => {
    const schema = of({ type: "array", items: { type: "object", properties: { "x/y~": { type: "string" } } } })
    assert.deepStrictEqual(issuesOf(schema, { a: [{}, { "x/y~": 1 }] })[0]!.path, ["a", 1, "x/y~"])
  })

  it("names a missing property and its type", () => {
    const schema = { properties: { a: { type: "string" }, b: { $ref: "#/$defs/b" } }, required: ["a", "b", "c"] }
    assert.deepStrictEqual(issuesOf({ ...schema, $defs: { b: { type: "array" } } }, { a: undefined }), [
      { path: ["a"], expected: "a string", found: "nothing" },
      { path: ["b"], expected: "an array", found: "nothing" },
      { path: ["c"], expected: "a value", found: "nothing" }
    ])
    const [issue] = issuesOf({ dependentRequired: { a: ["z"] } }, { a: 1 })
    assert.deepStrictEqual(issue, { path: ["z"], expected: "a value", found: "nothing" })
  })

  it("names an unknown property and the most similar known one", () => {
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
      const schema = { properties: { path: {}, mode: {} }, [keyword]: false }
      assert.deepStrictEqual(issuesOf(schema, { pth: "x", gone: undefined }), [
        { path: ["pth"], expected: "no such key", found: "a string", hint: 'did you mean "path"?' }
      ])
      assert.notProperty(issuesOf(schema, { something: 1 })[0], "hint")
    }
    assert.deepStrictEqual(issuesOf({ propertyNames: { pattern: "^a" } }, { b: 1 }), [
      { path: ["b"], expected: "another key", found: "one that is not allowed" }
    ])
  })

  it("about alternatives is one issue, or the issues of the only possible alternative", () => {
    const M = { type: "object", properties: { k: { type: "string" } }, required: ["k"] }
    const optional = { $defs: { M }, properties: { a: { anyOf: [{ $ref: "#/$defs/M" }, { type: "null" }] } } }
    assert.deepStrictEqual(issuesOf(optional, { a: { k: 1 } }), [
      { path: ["a", "k"], expected: "a string", found: "a number" }
    ])
    assert.deepStrictEqual(issuesOf(optional, { a: 5 }), [
      { path: ["a"], expected: 'an object with "k", or null', found: "a number" }
    ])
    const kind = (kind: string, key: string) => ({
      type: "object",
      properties: { kind: { const: kind }, [key]: { type: "string" } },
      required: ["kind", key]
    })
    const tagged = of({ oneOf: [kind("x", "p"), kind("y", "q")] })
    assert.deepStrictEqual(issuesOf(tagged, { a: { kind: "y" } }), [
      { path: ["a", "q"], expected: "a string", found: "nothing" }
    ])
    const both = 'an object with "kind": "x" and "p", or an object with "kind": "y" and "q"'
    assert.deepStrictEqual(issuesOf(tagged, { a: {} }), [{ path: ["a"], expected: both, found: "an object" }])
    const beside = { anyOf: [{ required: ["p"] }, { required: ["q"] }], properties: { a: { type: "string" } } }
    assert.deepStrictEqual(
      issuesOf(beside, { a: 1 }).map(({ path }) => path),
      [[], ["a"]]
    )
  })

  it("about a condition is that of its consequence", () => {
    const schema = JSON.parse('{ "if": { "required": ["a"] }, "then": { "required": ["b"] } }')
    assert.deepStrictEqual(issuesOf(schema, { a: 1 }), [{ path: ["b"], expected: "a value", found: "nothing" }])
  })

  it("is one of at most 20", () => {
    assert.strictEqual(
      issuesDespiteLoad(of({ items: { type: "string" } }), { a: Array.from({ length: 1_200 }, () => 1) }).length,
      20
    )
  })
})

describe("an issue of a schema with many or long names", () => {
  const named = (count: number, name: (index: number) => string): JsonSchema => ({
    type: "object",
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), true])),
    additionalProperties: false
  })
  const unknown = (count: number, name: string): Args =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 1]))

  it.each<[string, JsonSchema, Args]>([
    ["of 1,000 characters", named(900, (index) => "ab".repeat(500) + index), unknown(40, "ba".repeat(500))],
    ["of 200 characters", named(1_000, (index) => "ab".repeat(100) + index), unknown(20, "ba".repeat(100))],
    ["of 5,000 characters", named(180, (index) => "ab".repeat(2_500) + index), unknown(1, "ba".repeat(2_500))]
  ])("gives no hint for names %s", (_, schema, args) => {
    let issues: ReturnType<typeof issuesIfUsable>
    const took = cpuMillis(() => {
      issues = issuesIfUsable(schema, args)
    })
    assert.isBelow(took, 5_000)
    if (issues === undefined) return
    assert.lengthOf(issues, Math.min(20, Object.keys(args).length))
    for (const issue of issues) assert.notProperty(issue, "hint")
  })

  it("has hints within the work limit of one response", () => {
    const schema = named(2_500, (index) => `property_number_${index}`)
    const hints = issuesIfUsable(schema, unknown(30, "propertu_numbxr_"))?.filter(({ hint }) => hint !== undefined)
    if (hints !== undefined) assert.isAtMost(hints.length, 15)
    const small = named(50, (index) => `p_${index}`)
    assert.strictEqual(issuesOf(small, { "P-7": 1 })[0]!.hint, 'did you mean "p_7"?')
  })

  it("describes alternatives in a bounded text, and not all of very many", () => {
    const many = <A>(of: (index: number) => A) => Array.from({ length: 500 }, (_, index) => of(index))
    let looked = 0
    const counted = (index: number) => ({
      get const() {
        looked += 1
        return `${index}`.repeat(20)
      }
    })
    const root = { $defs: { z: { anyOf: many(counted) }, y: { anyOf: many(() => ({ $ref: "#/$defs/z" })) } } }
    const words = IssueText.describe({ anyOf: many(() => ({ $ref: "#/$defs/y" })) }, root)!
    assert.isAtMost(words.length, 1_001)
    assert.isAbove(words.length, 500)
    assert.isAtMost(looked, 30 * 30 * 21)
  })
})
