import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { JsonSchema } from "../../src/domain/catalog/Protocol.js"
import * as ArgumentCheck from "../../src/supervision/calls/ArgumentCheck.js"
import * as Cost from "../../src/supervision/calls/ArgumentCheck/cost.js"
import * as IssueText from "../../src/supervision/calls/ArgumentCheck/issueText.js"
import { runs } from "../laws/runs.js"

type Args = Readonly<Record<string, unknown>>

const issuesOf = (schema: JsonSchema, args: Args) => {
  const check = ArgumentCheck.forSchema(schema)
  if (check._tag === "Unusable") return assert.fail(check.reason)
  return check.issuesOf(args)
}

/** On a busy machine a large schema may take too long: then it is not used. */
const issuesIfUsable = (schema: JsonSchema, args: Args) => {
  const check = ArgumentCheck.forSchema(schema)
  const issues = check._tag === "Usable" ? check.issuesOf(args) : []
  return issues.length === 0 ? undefined : issues
}

const reasonOf = (schema: JsonSchema): string => {
  const check = ArgumentCheck.forSchema(schema)
  return check._tag === "Unusable" ? check.reason : assert.fail("the schema is usable")
}

const of = (a: unknown): JsonSchema => ({ type: "object", properties: { a } })

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

  it("has the path of the value, with numbers for items", () => {
    const schema = of({ type: "array", items: { type: "object", properties: { "x/y~": { type: "string" } } } })
    assert.deepStrictEqual(issuesOf(schema, { a: [{}, { "x/y~": 1 }] })[0]!.path, ["a", 1, "x/y~"])
  })

  it("names a property that is missing, and its type", () => {
    const schema = { properties: { a: { type: "string" }, b: { $ref: "#/$defs/b" } }, required: ["a", "b", "c"] }
    assert.deepStrictEqual(issuesOf({ ...schema, $defs: { b: { type: "array" } } }, { a: undefined }), [
      { path: ["a"], expected: "a string", found: "nothing" },
      { path: ["b"], expected: "an array", found: "nothing" },
      { path: ["c"], expected: "a value", found: "nothing" }
    ])
    const [issue] = issuesOf({ dependentRequired: { a: ["z"] } }, { a: 1 })
    assert.deepStrictEqual(issue, { path: ["z"], expected: "a value", found: "nothing" })
  })

  it("names a property that should not be there, and the one most like it", () => {
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

  it("about alternatives is one, or what the only one that can be meant says", () => {
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

  it("about a condition is what its consequence says", () => {
    const schema = JSON.parse('{ "if": { "required": ["a"] }, "then": { "required": ["b"] } }')
    assert.deepStrictEqual(issuesOf(schema, { a: 1 }), [{ path: ["b"], expected: "a value", found: "nothing" }])
  })

  it("is one of at most 20", () => {
    assert.strictEqual(
      issuesOf(of({ items: { type: "string" } }), { a: Array.from({ length: 1_200 }, () => 1) }).length,
      20
    )
  })
})

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

  it("of an older draft means what it meant there", () => {
    const exclusive = of({ minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false })
    assert.strictEqual(issuesOf(exclusive, { a: 0 })[0]!.expected, "a number above 0")
    assert.deepStrictEqual(issuesOf(exclusive, { a: 9 }), [])
    const tuple = { $schema: "http://json-schema.org/draft-07/schema#", ...of({ items: [{ type: "string" }] }) }
    assert.deepStrictEqual(issuesOf(tuple, { a: [1] })[0]!.path, ["a", 0])
  })

  it("may have the id of another one", () => {
    assert.deepStrictEqual(issuesOf({ $id: "same", ...of({ type: "string" }) }, { a: "x" }), [])
    assert.strictEqual(issuesOf({ $id: "same", ...of({ type: "number" }) }, { a: "x" }).length, 1)
  })

  it("that refers to something outside is unusable, and says to what", () => {
    assert.include(reasonOf(of({ $ref: "https://example.com/x.json" })), '"https://example.com/x.json"')
  })

  it("that is wrong, too large or too deep is unusable", () => {
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

  it("may refer to itself", () => {
    const tree = { properties: { name: { type: "string" }, below: { items: { $ref: "#" } } } }
    assert.deepStrictEqual(issuesOf(tree, { below: [{ below: [{ name: 1 }] }] })[0]!.path, [
      "below",
      0,
      "below",
      0,
      "name"
    ])
  })

  it("without end lets everything pass", () => {
    assert.deepStrictEqual(issuesOf({ allOf: [{ $ref: "#" }] }, {}), [])
  })

  it("that would take for ever is stopped, and not used any more", () => {
    const pattern = of({ pattern: "^(a+)+$" })
    assert.strictEqual(issuesOf(pattern, { a: "b" }).length, 1)
    assert.deepStrictEqual(issuesOf(pattern, { a: `${"a".repeat(50)}b` }), [])
    // once may be the fault of a busy machine
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

  it("leaves the arguments as they are", () => {
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

  it("that fit have no issue, and changed ones have, at the place of the change", () =>
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

  it("never show in an issue, whatever the schema says", () => {
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

describe("a check never blocks (security M3)", () => {
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
  ])("because of %s", (_, schema, a) => {
    // compiled before: here it is about the arguments
    issuesOf(schema, {})
    for (const _ of [1, 2, 3]) {
      const started = performance.now()
      issuesOf(schema, { a })
      assert.isBelow(performance.now() - started, 1_000)
    }
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
    const started = performance.now()
    const issues = issuesIfUsable(schema, args)
    assert.isBelow(performance.now() - started, 5_000)
    if (issues === undefined) return
    assert.lengthOf(issues, Math.min(20, Object.keys(args).length))
    for (const issue of issues) assert.notProperty(issue, "hint")
  })

  it("gives hints as long as the work for one answer lasts", () => {
    const schema = named(2_500, (index) => `property_number_${index}`)
    const hints = issuesIfUsable(schema, unknown(30, "propertu_numbxr_"))?.filter(({ hint }) => hint !== undefined)
    if (hints !== undefined) assert.isAtMost(hints.length, 15)
    const small = named(50, (index) => `p_${index}`)
    assert.strictEqual(issuesOf(small, { "P-7": 1 })[0]!.hint, 'did you mean "p_7"?')
  })

  it("describes alternatives in bounded words, and not all of very many", () => {
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

describe("a schema never blocks before its check (security M3)", () => {
  it.each<[string, JsonSchema]>([
    ["a pattern of many open brackets", of({ pattern: "[".repeat(300_000) })],
    ["a property pattern of many open brackets", of({ patternProperties: { ["[".repeat(300_000)]: {} } })],
    ["a pattern of many escapes", of({ pattern: "\\".repeat(299_999) })]
  ])("because of %s", (_, schema) => {
    const started = performance.now()
    const check = ArgumentCheck.forSchema(schema)
    if (check._tag === "Usable") check.issuesOf({ a: "x" })
    assert.isBelow(performance.now() - started, 5_000)
  })
})

describe("the bound of a check (security M3)", () => {
  /** Schemas that a validator may apply, by the rules of JSON Schema, one for each keyword of interest. */
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
        // references lead forward only: what has no end has no bound
        const { $ref: _, ...last } = JSON.parse(JSON.stringify(y).replaceAll("$ref", "ref")) as JsonSchema
        const middle = JSON.parse(JSON.stringify(x).replaceAll("#/$defs/x", "#/$defs/y")) as JsonSchema
        const root = { ...schema, $defs: { x: middle, y: last } }
        const { parts } = Cost.weigh(root)
        const { values } = Cost.measure(value, Number.POSITIVE_INFINITY)!
        assert.isAtMost(applications(root, root, value), parts * values)
      }),
      runs(500)
    ))

  it("does not exist for a schema that comes back to itself, or whose references are not plain", () => {
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

  it("of compiling is short for a schema that is not small, which is given up after three times", () => {
    // 20,000 patterns in 20,000 properties
    const properties = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { pattern: `^(a|b)*${index}$` }])
    )
    const schema = { type: "object", properties }
    for (const _ of [1, 2, 3]) {
      const started = performance.now()
      assert.include(reasonOf(schema), "too long")
      assert.isBelow(performance.now() - started, 2_000)
    }
    assert.strictEqual(ArgumentCheck.forSchema(schema), ArgumentCheck.forSchema(schema))
    // listed again, it is still too slow
    const again = ArgumentCheck.forSchema(structuredClone(schema))
    assert.strictEqual(again, ArgumentCheck.forSchema(schema))
  })

  it("counts schemas that are true or false, and long keys", () => {
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

  it("holds for an equal schema, too, after its checks took too long", () => {
    const make = (): JsonSchema => ({ ...of({ pattern: "^(a+)+$" }), description: "listed again" })
    const slow = { a: `${"a".repeat(50)}b` }
    const first = make()
    assert.deepStrictEqual([issuesOf(first, slow), issuesOf(first, slow)], [[], []])
    assert.deepStrictEqual(issuesOf(make(), { a: "b" }), [])
  })
})
