import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { JsonSchema } from "../../src/domain/catalog/Protocol.js"
import * as ArgumentCheck from "../../src/supervision/calls/ArgumentCheck.js"
import { runs } from "../laws/runs.js"
import { type Args, issuesOf, reasonOf, of } from "./argumentChecks.js"

describe("a schema", () => {
  it("is compiled once", () => {
    const schema = of({ type: "string" })
    assert.strictEqual(ArgumentCheck.forSchema(schema), ArgumentCheck.forSchema(schema))
  })

  it.each<[string, JsonSchema, Args]>([
    ["unknown keywords", of({ "x-anything": 1, widget: "w" }), { a: 1 }],
    ["unknown formats", of({ type: "string", format: "weird" }), { a: "x" }],
    ["types that are none", of({ type: "int" }), { a: 1 }],
    ["boolean subschemas", of(true), { a: 1 }],
    ["nullable beside a type", of({ type: "string", nullable: true }), { a: null }],
    ["nullable alone", of({ enum: ["x"], nullable: true }), { a: null }],
    ["an empty list for no properties", { properties: [] }, { a: 1 }],
    ["an id of draft-04", { id: "x", $schema: "http://json-schema.org/draft-04/schema#" }, {}],
    ["patterns that Unicode mode refuses", of({ pattern: "^[\\w\\-]+$" }), { a: "a-b" }],
    ["a property called constructor", { properties: { constructor: { type: "string" } } }, {}]
  ])("may have %s", (_, schema, args) => {
    assert.deepStrictEqual(issuesOf(schema, args), [])
  })

  it("of an older draft has the meaning of that draft", () => {
    const exclusive = of({ minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false })
    assert.strictEqual(issuesOf(exclusive, { a: 0 })[0]!.expected, "a number above 0")
    assert.deepStrictEqual(issuesOf(exclusive, { a: 9 }), [])
    const tuple = { $schema: "http://json-schema.org/draft-07/schema#", ...of({ items: [{ type: "string" }] }) }
    assert.deepStrictEqual(issuesOf(tuple, { a: [1] })[0]!.path, ["a", 0])
  })

  it("can have the id of another one", () => {
    assert.deepStrictEqual(issuesOf({ $id: "same", ...of({ type: "string" }) }, { a: "x" }), [])
    assert.strictEqual(issuesOf({ $id: "same", ...of({ type: "number" }) }, { a: "x" }).length, 1)
  })

  it("with an external reference is unusable, with the name of the reference", () => {
    assert.include(reasonOf(of({ $ref: "https://example.com/x.json" })), '"https://example.com/x.json"')
  })

  it("that is invalid, too large or too deep is unusable", () => {
    assert.include(reasonOf({ required: "x" }), "cannot be compiled")
    assert.include(reasonOf(of({ pattern: "[" })), "cannot be compiled")
    assert.include(reasonOf({ $async: true }), "asynchronous")
    assert.include(reasonOf({ description: "x".repeat(1_000_001) }), "1 MB")
    let deep: JsonSchema = {}
    for (let level = 0; level < 100_000; level++) deep = { not: deep }
    assert.include(reasonOf(deep), "levels")
    const endless: Record<string, unknown> = {}
    endless.properties = { a: endless, b: endless }
    assert.include(reasonOf(endless), "levels")
  })

  it("can refer to itself", () => {
    const tree = { properties: { name: { type: "string" }, below: { items: { $ref: "#" } } } }
    assert.deepStrictEqual(issuesOf(tree, { below: [{ below: [{ name: 1 }] }] })[0]!.path, [
      "below",
      0,
      "below",
      0,
      "name"
    ])
  })

  it("that is infinitely recursive accepts everything", () => {
    assert.deepStrictEqual(issuesOf({ allOf: [{ $ref: "#" }] }, {}), [])
  })

  it("that takes too long is stopped and no longer used", () => {
    const pattern = of({ pattern: "^(a+)+$" })
    assert.strictEqual(issuesOf(pattern, { a: "b" }).length, 1)
    assert.deepStrictEqual(issuesOf(pattern, { a: `${"a".repeat(50)}b` }), [])
    // a single slow check may be caused by a busy machine
    assert.deepStrictEqual(issuesOf(pattern, { a: `${"a".repeat(50)}b` }), [])
    assert.deepStrictEqual(issuesOf(pattern, { a: "b" }), [])
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [n, { allOf: [{ $ref: `#/$defs/${n + 1}` }, { $ref: `#/$defs/${n + 1}` }] }])
    )
    assert.deepStrictEqual(issuesOf({ $ref: "#/$defs/0", $defs: { ...defs, 40: { required: ["x"] } } }, {}), [])
  })

  it.each(["(a|a){30}b", "(a|a)(a|a)b", "a*a*b", "(?=a+)+b", "(a)\\1", "a+"])(
    "tests the pattern %s on any text",
    (pattern) => {
      assert.strictEqual(issuesOf(of({ pattern }), { a: "c" }).length, 1)
      assert.isAtMost(issuesOf(of({ pattern }), { a: "c".repeat(5_000) }).length, 1)
    }
  )

  it("does not change the arguments", () => {
    const args = Object.freeze({ a: Object.freeze({ n: "1" }) })
    const schema = of({ properties: { n: { type: "number" }, d: { default: 1 } }, additionalProperties: false })
    assert.strictEqual(issuesOf(schema, args).length, 1)
    assert.deepStrictEqual(args, { a: { n: "1" } })
  })
})

describe("arguments", () => {
  const types = {
    string: fc.string(),
    integer: fc.integer(),
    boolean: fc.boolean(),
    null: fc.constant(null),
    array: fc.array(fc.integer(), { maxLength: 3 })
  } as const
  const type = fc.constantFrom(...(Object.keys(types) as Array<keyof typeof types>))
  const fields = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), type, { minKeys: 1, maxKeys: 5 })
  const schemaOf = (fields: Record<string, string>): JsonSchema => ({
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([key, type]) => [key, { type }])),
    required: Object.keys(fields),
    additionalProperties: false
  })
  const fitting = fields.chain((fields) =>
    fc.record({
      schema: fc.constant(schemaOf(fields)),
      args: fc.record(
        Object.fromEntries(Object.entries(fields).map(([key, type]) => [key, types[type] as fc.Arbitrary<unknown>]))
      )
    })
  )

  it("that are valid have no issue, and changed ones have one at the place of the change", () =>
    fc.assert(
      fc.property(fitting, fc.nat(), fc.constantFrom("drop", "add", "replace"), ({ args, schema }, nth, how) => {
        assert.deepStrictEqual(issuesOf(schema, args), [])
        const keys = Object.keys(args)
        const key = how === "add" ? "UNKNOWN" : keys[nth % keys.length]!
        const changed: Record<string, unknown> = { ...args, [key]: { canary: "canary-7f3a" } }
        if (how === "drop") delete changed[key]
        const issues = issuesOf(schema, changed)
        assert.deepStrictEqual(
          issues.map(({ path }) => path),
          [[key]]
        )
        assert.notInclude(JSON.stringify(issues), "canary")
      }),
      runs(50)
    ))

  it("are never shown in an issue, whatever the schema", () => {
    const canary = "canary-7f3a"
    const keyword = fc.constantFrom<JsonSchema>(
      { type: "number" },
      { enum: [1] },
      { const: { a: 1 } },
      { maxLength: 1 },
      { pattern: "^(x|y)+$" },
      { anyOf: [{ type: "number" }, { type: "string", maxLength: 2 }] },
      { oneOf: [{ type: "string" }, { minLength: 1 }] },
      { not: {} },
      { items: { maxLength: 1 }, uniqueItems: true, contains: { const: 1 } },
      { additionalProperties: { type: "number" }, minProperties: 9 }
    )
    const value = fc.constantFrom<unknown>(canary, [canary, canary], { k: canary }, [{ k: canary }])
    fc.assert(
      fc.property(keyword, keyword, value, (one, other, a) => {
        assert.notInclude(JSON.stringify(issuesOf({ ...of({ allOf: [one, other] }), required: ["z"] }, { a })), canary)
      }),
      runs(50)
    )
  })
})
