import { assert, describe, it } from "@effect/vitest"
import * as Listing from "../../src/domain/catalog/Listing.js"
import { tool, facts, messages, names, assertUntouched } from "./support/listings.js"

describe("tools over HTTP: x-mcp-header", () => {
  const withProperties = (properties: unknown, more: object = {}) =>
    tool("a", { inputSchema: { type: "object", properties, ...more } })

  const declaration = { type: "string", "x-mcp-header": "Region" }

  it.each([
    ["none", withProperties({ region: { type: "string" } })],
    [
      "one per type",
      withProperties({
        a: { type: "string", "x-mcp-header": "A" },
        b: { type: "integer", "x-mcp-header": "b" },
        c: { type: "boolean", "x-mcp-header": "!#$%&'*+-.^_`|~9Z" }
      })
    ],
    ["a nested one", withProperties({ where: { type: "object", properties: { region: declaration } } })],
    ["a property of that name", withProperties({ "x-mcp-header": { type: "object" } })],
    ["data that looks like one", withProperties({ a: { type: "object", default: declaration, enum: [declaration] } })],
    ["no properties at all", withProperties(null)],
    ["properties that are none", withProperties("x-mcp-header")],
    ["schemas that are none", withProperties({ a: true, b: { items: false, $defs: 7, allOf: [true, null] } })]
  ])("lets through: %s", (_, entry) => {
    assertUntouched(Listing.tools([entry], { headers: true }), [entry])
  })

  const prefix = ["inputSchema", "properties"]

  it.each([
    ["an empty name", withProperties({ a: { type: "string", "x-mcp-header": "" } }), [...prefix, "a", "x-mcp-header"]],
    ["no name", withProperties({ a: { type: "string", "x-mcp-header": null } }), [...prefix, "a", "x-mcp-header"]],
    [
      "a space",
      withProperties({ a: { type: "string", "x-mcp-header": "My Region" } }),
      [...prefix, "a", "x-mcp-header"]
    ],
    ["a colon", withProperties({ a: { type: "string", "x-mcp-header": "A:" } }), [...prefix, "a", "x-mcp-header"]],
    [
      "a line break",
      withProperties({ a: { type: "string", "x-mcp-header": "A\n" } }),
      [...prefix, "a", "x-mcp-header"]
    ],
    ["a number", withProperties({ a: { type: "number", "x-mcp-header": "A" } }), [...prefix, "a", "type"]],
    ["an object", withProperties({ a: { type: "object", "x-mcp-header": "A" } }), [...prefix, "a", "type"]],
    ["two types", withProperties({ a: { type: ["string", "null"], "x-mcp-header": "A" } }), [...prefix, "a", "type"]],
    ["no type", withProperties({ a: { "x-mcp-header": "A" } }), [...prefix, "a", "type"]],
    [
      "the same name twice",
      withProperties({
        a: declaration,
        b: { type: "object", properties: { c: { ...declaration, "x-mcp-header": "REGION" } } }
      }),
      [...prefix, "b", "properties", "c", "x-mcp-header"]
    ],
    [
      "a second one within one that is right",
      withProperties({ a: { ...declaration, items: { type: "string", "x-mcp-header": "B" } } }),
      [...prefix, "a", "items", "x-mcp-header"]
    ],
    [
      "one behind properties that are right",
      withProperties({ a: { type: "string" } }, { items: declaration }),
      ["inputSchema", "items", "x-mcp-header"]
    ],
    ["the root", withProperties({}, { "x-mcp-header": "A" }), ["inputSchema", "x-mcp-header"]],
    ["a name that is not shown", withProperties({ "Bearer abc": { "x-mcp-header": "A" } }), prefix]
  ])("leaves out: %s", (_, entry, path) => {
    const listing = Listing.tools([entry, tool("good")], { headers: true })
    assert.deepStrictEqual(names(listing), ["good"])
    assert.deepStrictEqual<unknown>(facts(listing), [["error", "invalid_header", "a", path]])
    assertUntouched(Listing.tools([entry]), [entry])
  })

  const single = [
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "not",
    "if",
    "then",
    "else"
  ]
  const many = ["items", "prefixItems", "oneOf", "anyOf", "allOf"]
  const named = ["patternProperties", "dependentSchemas", "$defs", "definitions"]
  const hidden = { properties: { region: declaration } }

  it.each([
    ...single.map((key) => [key, hidden, [key]] as const),
    ...many.map((key) => [key, [true, hidden], [key, 1]] as const),
    ...named.map((key) => [key, { it: hidden }, [key, "it"]] as const)
  ])("leaves out: a property under %s", (key, value, path) => {
    const rest = ["properties", "region", "x-mcp-header"]
    const top = Listing.tools([tool("a", { inputSchema: { [key]: value } })], { headers: true })
    assert.deepStrictEqual<unknown>(facts(top), [["error", "invalid_header", "a", ["inputSchema", ...path, ...rest]]])
    const below = Listing.tools([withProperties({ b: { [key]: value } })], { headers: true })
    assert.deepStrictEqual<unknown>(facts(below), [
      ["error", "invalid_header", "a", [...prefix, "b", ...path, ...rest]]
    ])
  })

  it("reports what is invalid", () => {
    const message = (properties: object) => messages(Listing.tools([withProperties(properties)], { headers: true }))[0]
    const at = "the tool is left out: inputSchema.properties.a"
    assert.strictEqual(
      message({ a: { items: declaration } }),
      `${at}.items["x-mcp-header"]: expected nothing, found a string (only a property of the arguments can be sent as a header)`
    )
    assert.strictEqual(
      message({ a: { "x-mcp-header": 1 } }),
      `${at}["x-mcp-header"]: expected the name of a header, found a number`
    )
    assert.strictEqual(
      message({ a: { "x-mcp-header": "A" } }),
      `${at}.type: expected "string", "integer" or "boolean", found nothing`
    )
    assert.strictEqual(
      message({ b: declaration, a: declaration }),
      `${at}["x-mcp-header"]: expected a header of its own, found one that another property has, but for its case`
    )
  })

  it.each([
    ["properties", (inner: unknown) => ({ properties: { a: inner } })],
    ["items", (inner: unknown) => ({ items: inner })],
    ["anyOf", (inner: unknown) => ({ anyOf: [inner] })]
  ])("leaves out a schema that is very deep in %s, and does not overflow", (_, nest) => {
    const schemaOf = (levels: number) => {
      let inputSchema: Record<string, unknown> = {}
      for (let depth = 0; depth < levels; depth++) inputSchema = nest(inputSchema)
      return { name: "deep", inputSchema }
    }
    assert.deepStrictEqual(names(Listing.tools([schemaOf(200)], { headers: true })), ["deep"])
    const listing = Listing.tools([schemaOf(201), tool("good")], { headers: true })
    assert.deepStrictEqual(names(listing), ["good"])
    assert.deepStrictEqual(facts(listing), [["error", "invalid_header", "deep", ["inputSchema"]]])
    assert.deepStrictEqual(messages(listing), [
      "the tool is left out: inputSchema: expected a schema of at most 200 levels, found a deeper one"
    ])
    assert.deepStrictEqual(names(Listing.tools([schemaOf(240)])), ["deep"])
    for (const headers of [true, false]) {
      const endless = Listing.tools([schemaOf(100_000), tool("good")], { headers })
      assert.deepStrictEqual(names(endless), ["good"])
      assert.deepStrictEqual(facts(endless), [["error", "nested_too_deep", "deep", []]])
      assert.deepStrictEqual(messages(endless), [
        "the tool is left out: (root): expected at most 500 levels, found more"
      ])
    }
  })
})
