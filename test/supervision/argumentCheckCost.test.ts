import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { JsonSchema } from "../../src/domain/catalog/Protocol.js"
import * as ArgumentCheck from "../../src/supervision/calls/ArgumentCheck.js"
import * as Cost from "../../src/supervision/calls/ArgumentCheck/cost.js"
import { runs } from "../laws/runs.js"
import { cpuMillis } from "../support/cpuTime.js"
import { compiled, issuesOf, of, reasonOf } from "./argumentChecks.js"

describe("a check never blocks", () => {
  const count = 30_000
  const objects = Array.from({ length: count }, (_, index) => ({ x: index, y: { z: index } }))
  const texts = Array.from({ length: count }, (_, index) => `${"a".repeat(1_000)}${index}`)
  const nested = (levels: number): unknown => (levels === 0 ? [] : [nested(levels - 1)])
  const numbers = Array.from({ length: count }, (_, index) => ({ n: index }))
  /** Every level of the arguments is checked twice as often as the one above. */
  const doubling = {
    $defs: { d: { allOf: [{ items: { $ref: "#/$defs/d" } }, { items: { $ref: "#/$defs/d" } }] } },
    ...of({ $ref: "#/$defs/d" })
  }
  const union = (levels: number): JsonSchema =>
    levels === 0 ? { const: 1 } : { anyOf: Array.from({ length: 6 }, () => ({ items: union(levels - 1) })) }

  it.each<[string, JsonSchema, unknown]>([
    ["uniqueItems", of({ uniqueItems: true }), objects],
    ["uniqueItems beside items", of({ items: { type: "object" }, uniqueItems: true }), objects],
    ["uniqueItems of items", of({ items: { uniqueItems: true } }), [objects]],
    ["contains", of({ contains: { enum: numbers.slice(0, 3_000) } }), objects],
    ["a large enum", of({ items: { enum: numbers.slice(0, 3_000) } }), objects],
    ["a large const", of({ items: { anyOf: [{ const: objects.slice(0, 3_000) }] } }), Array(3_000).fill(objects)],
    ["a simple pattern", of({ items: { pattern: "a+b" } }), texts],
    ["a pattern that goes back", of({ items: { pattern: "^(a|b)*c$" } }), texts],
    [
      "patternProperties",
      of({ patternProperties: { "a+b": {}, "a+c": {} } }),
      Object.fromEntries(texts.map((t) => [t, 1]))
    ],
    ["nested unions", of(union(2)), Array(300).fill(Array(300).fill(nested(2)))],
    ["references that double", doubling, nested(40)],
    ["issues of references", { $defs: { s: { type: "string" } }, ...of({ items: { $ref: "#/$defs/s" } }) }, objects],
    [
      "propertyNames",
      of({ propertyNames: { anyOf: [{ maxLength: 2 }, { pattern: "a+b" }] } }),
      Object.fromEntries(texts.map((t) => [t, 1]))
    ]
  ])("because of %s", (_, given, a) => {
    // compiled before, so that only the check is measured
    const schema = compiled(given)
    issuesOf(schema, {})
    for (const _ of [1, 2, 3]) {
      assert.isBelow(
        cpuMillis(() => issuesOf(schema, { a })),
        1_000
      )
    }
  })
})

describe("a schema never blocks before its check", () => {
  it.each<[string, JsonSchema]>([
    ["a pattern of many open brackets", of({ pattern: "[".repeat(300_000) })],
    ["a property pattern of many open brackets", of({ patternProperties: { ["[".repeat(300_000)]: {} } })],
    ["a pattern of many escapes", of({ pattern: "\\".repeat(299_999) })]
  ])("because of %s", (_, schema) => {
    const took = cpuMillis(() => {
      const check = ArgumentCheck.forSchema(schema)
      if (check._tag === "Usable") check.issuesOf({ a: "x" })
    })
    assert.isBelow(took, 5_000)
  })
})

describe("the bound of a check", () => {
  /** Schemas that a validator can apply, by the rules of JSON Schema, one for each relevant keyword. */
  const schemas = fc.letrec<{ schema: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constant({}),
      fc.record(
        {
          type: fc.constantFrom("object", "array", "string"),
          properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
          additionalProperties: tie("schema"),
          patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), tie("schema"), { maxKeys: 2 }),
          items: tie("schema"),
          contains: tie("schema"),
          allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
          anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
          not: tie("schema"),
          enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 4 }),
          $ref: fc.constantFrom("#/$defs/x", "#/$defs/y")
        },
        { requiredKeys: [] }
      )
    )
  })).schema
  const values = fc
    .jsonValue({ maxDepth: 4 })
    .chain((value) => fc.constantFrom(value, { a: value, b: [value, value] }, [[value], { ab: value }]))

  /** How often a schema is applied to a value, if nothing ends the check early. Counts enum members as schemas. */
  const applications = (root: JsonSchema, schema: unknown, value: unknown): number => {
    if (typeof schema !== "object" || schema === null) return 1
    const { $ref, additionalProperties, allOf, anyOf, contains, enum: members, items, not } = schema as JsonSchema
    const { patternProperties = {}, properties = {} } = schema as Record<string, Record<string, unknown>>
    const on = (inner: unknown, at: unknown) => (inner === undefined ? 0 : applications(root, inner, at))
    const all = (each: unknown) => [each].flat().reduce<number>((sum, inner) => sum + on(inner, value), 0)
    const [, , name = ""] = typeof $ref === "string" ? $ref.split("/") : []
    const target = (root.$defs as Record<string, unknown> | undefined)?.[name]
    let total = 1 + all(allOf) + all(anyOf) + on(not, value) + (target === undefined ? 0 : on(target, value))
    total += ((members as ReadonlyArray<unknown> | undefined) ?? []).length
    if (Array.isArray(value)) for (const item of value) total += on(items, item) + on(contains, item)
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        total += on(properties[key], inner) + on(additionalProperties, inner)
        for (const pattern of Object.values(patternProperties)) total += 1 + on(pattern, inner)
      }
    }
    return total
  }

  it("is never exceeded", () =>
    fc.assert(
      fc.property(schemas, schemas, schemas, values, (schema, x, y, value) => {
        // references only lead forward: an infinite schema has no bound
        const { $ref: _, ...last } = JSON.parse(JSON.stringify(y).replaceAll("$ref", "ref")) as JsonSchema
        const middle = JSON.parse(JSON.stringify(x).replaceAll("#/$defs/x", "#/$defs/y")) as JsonSchema
        const root = { ...schema, $defs: { x: middle, y: last } }
        const { parts } = Cost.weigh(root)
        const { values } = Cost.measure(value, Number.POSITIVE_INFINITY)!
        assert.isAtMost(applications(root, root, value), parts * values)
      }),
      runs(500)
    ))

  it("is absent for a recursive schema and for one with other references than plain ones", () => {
    for (const schema of [
      { properties: { a: { $ref: "#" } } },
      { $defs: { a: { items: { $ref: "#/$defs/b" } }, b: { items: { $ref: "#/$defs/a" } } } },
      { properties: { a: { $dynamicRef: "#x" } } },
      { properties: { a: { $ref: "other" } } },
      { $defs: { a: { $id: "other", $ref: "#/$defs/b" }, b: {} } }
    ]) {
      assert.strictEqual(Cost.weigh(schema).parts, Number.POSITIVE_INFINITY, JSON.stringify(schema))
      assert.isFalse(Cost.isCheap(Cost.weigh(schema), {}))
    }
  })

  it("is low for an ordinary schema with ordinary arguments", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [
        `p${index}`,
        { type: "string", description: "a text", maxLength: 9_999 }
      ])
    )
    const schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false }
    const weight = Cost.weigh(schema)
    assert.isTrue(
      Cost.isCheap(weight, Object.fromEntries(Object.keys(properties).map((key) => [key, "x".repeat(1_000)])))
    )
    assert.isTrue(Cost.isCheap(weight, { p0: "x".repeat(100_000) }))
    assert.isFalse(Cost.isCheap(weight, { p0: Array(100_000).fill(1) }))
  })

  it("of compiling is short for a large schema, which is unusable after three tries", () => {
    // 20,000 patterns in 20,000 properties
    const properties = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { pattern: `^(a|b)*${index}$` }])
    )
    const schema = { type: "object", properties }
    for (const _ of [1, 2, 3]) {
      assert.isBelow(
        cpuMillis(() => assert.include(reasonOf(schema), "too long")),
        2_000
      )
    }
    assert.strictEqual(ArgumentCheck.forSchema(schema), ArgumentCheck.forSchema(schema))
    // after it is listed again, it is still too slow
    const again = ArgumentCheck.forSchema(structuredClone(schema))
    assert.strictEqual(again, ArgumentCheck.forSchema(schema))
  })

  it("counts boolean schemas and long keys", () => {
    const named = (value: unknown) =>
      Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`p${index}`, value]))
    for (const schema of [
      { properties: named(false) },
      { properties: named(true) },
      { dependentSchemas: named(false) },
      { oneOf: Object.values(named(false)) },
      { properties: { ["x".repeat(600_000)]: true } }
    ]) {
      assert.isAbove(Cost.weigh(schema).parts, 8_000)
      assert.isFalse(Cost.isCheap(Cost.weigh(schema), {}))
    }
  })

  it("applies to an equal schema, too, after its checks took too long", () => {
    const make = (): JsonSchema => ({ ...of({ pattern: "^(a+)+$" }), description: "listed again" })
    const slow = { a: `${"a".repeat(50)}b` }
    const first = make()
    assert.deepStrictEqual([issuesOf(first, slow), issuesOf(first, slow)], [[], []])
    assert.deepStrictEqual(issuesOf(make(), { a: "b" }), [])
  })
})
