import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Diagnostic } from "../../src/domain/Diagnostic.js"
import * as Listing from "../../src/domain/catalog/Listing.js"

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more })

/** Code, subject, path and severity: what programs look at. */
const facts = ({ diagnostics }: Listing.Listing<unknown>) =>
  diagnostics.map(({ code, path, severity, subject }) => [severity, code, subject, path])

const messages = ({ diagnostics }: Listing.Listing<unknown>) => diagnostics.map(({ message }) => message)

const names = ({ items }: Listing.Listing<{ readonly name: string }>) => items.map(({ name }) => name)

/** Good, and as it is. */
const assertUntouched = (listing: Listing.Listing<unknown>, entries: ReadonlyArray<unknown>) => {
  assert.deepStrictEqual(facts(listing), [])
  assert.strictEqual(listing.items.length, entries.length)
  for (const [index, item] of listing.items.entries()) assert.strictEqual(item, entries[index])
}

describe("the key that tells entries apart", () => {
  it("has a limit, beyond which the entry is left out (security M2)", () => {
    const long = "x".repeat(8_193)
    const uri = `file:///${long}`
    for (const [listing, length, code, key] of [
      [Listing.tools([tool(long), tool("good")]), 8_193, "malformed_tool", "name"],
      [
        Listing.resources([
          { uri, name: "r" },
          { uri: "a:b", name: "good" }
        ]),
        8_201,
        "malformed_resource",
        "uri"
      ],
      [
        Listing.resourceTemplates([
          { uriTemplate: uri, name: "r" },
          { uriTemplate: "a:{b}", name: "good" }
        ]),
        8_201,
        "malformed_resource_template",
        "uriTemplate"
      ],
      [Listing.prompts([{ name: long }, { name: "good" }]), 8_193, "malformed_prompt", "name"]
    ] as const) {
      assert.deepStrictEqual(names(listing), ["good"])
      assert.strictEqual(listing.diagnostics.length, 1)
      assert.deepInclude(listing.diagnostics[0], { severity: "error", code, path: [key] })
      assert.include(messages(listing)[0], `expected at most 8192 characters, found ${length}`)
      assert.isBelow(JSON.stringify(listing.diagnostics).length, 1_000)
    }
    const longest = [tool("x".repeat(8_192))]
    assertUntouched(Listing.tools(longest), longest)
  })
})

describe("tools", () => {
  it("pain 22: ten tools, some of them strange: the good ones stay, each bad one is named with a path", () => {
    const entries = [
      tool("plain"),
      { name: "no_schema" },
      tool("int", { inputSchema: { type: "object", properties: { a: { type: "int" } } } }),
      tool("any_of", { inputSchema: { anyOf: [{ type: "object" }] } }),
      tool("boolean_subschema", { inputSchema: { type: "object", properties: { a: true, b: false } } }),
      tool("bad_output", { outputSchema: "string" }),
      tool("plain", { description: "the second" }),
      tool("remote_ref", { inputSchema: { $ref: "https://example.com/schema.json" } }),
      tool("not_an_object", { inputSchema: { type: "array" } }),
      tool("last")
    ]
    const listing = Listing.tools(entries)
    assert.deepStrictEqual(names(listing), [
      "plain",
      "int",
      "any_of",
      "boolean_subschema",
      "bad_output",
      "remote_ref",
      "last"
    ])
    assert.deepStrictEqual(facts(listing), [
      ["error", "malformed_tool", "no_schema", ["inputSchema"]],
      ["warning", "malformed_detail", "bad_output", ["outputSchema"]],
      ["error", "duplicate_tool", "plain", ["name"]],
      ["error", "malformed_tool", "not_an_object", ["inputSchema", "type"]]
    ])
    assert.deepStrictEqual(messages(listing), [
      "the tool is left out: inputSchema: expected an object, found nothing",
      "outputSchema: expected an object, found a string; it is ignored",
      "the tool is left out: name: expected a name of its own, found one that a tool before it has",
      'the tool is left out: inputSchema.type: expected "object", found a string (the arguments of a call are an object)'
    ])
    for (const diagnostic of listing.diagnostics) assert.isTrue(Schema.is(Diagnostic)(diagnostic))
  })

  it("trap 59: what is no entry at all costs nobody else", () => {
    const entries = [null, tool("a"), "tool", 1, [], tool("b"), true, {}, { name: 1, inputSchema: {} }]
    const listing = Listing.tools(entries)
    assert.deepStrictEqual(listing.items, [entries[1], entries[5]] as never)
    assert.deepStrictEqual(messages(listing), [
      "the tool at position 1 is left out: (root): expected an object, found null",
      "the tool at position 3 is left out: (root): expected an object, found a string",
      "the tool at position 4 is left out: (root): expected an object, found a number",
      "the tool at position 5 is left out: (root): expected an object, found an empty array",
      "the tool at position 7 is left out: (root): expected an object, found a boolean",
      "the tool at position 8 is left out: name: expected a string, found nothing; inputSchema: expected an object, found nothing",
      "the tool at position 9 is left out: name: expected a string, found a number"
    ])
  })

  it.each([[undefined], [null], [[]], [true], ["object"]])(
    "leaves out a tool whose inputSchema is %j",
    (inputSchema) => {
      const listing = Listing.tools([tool("bad", { inputSchema }), tool("good")])
      assert.deepStrictEqual(names(listing), ["good"])
      assert.deepStrictEqual(facts(listing), [["error", "malformed_tool", "bad", ["inputSchema"]]])
    }
  )

  it.each([[null], ["string"], [["string", "null"]], [[]], [1], [{}]])(
    "leaves out an inputSchema of type %j",
    (type) => {
      const listing = Listing.tools([tool("bad", { inputSchema: { type } }), tool("good")])
      assert.deepStrictEqual(names(listing), ["good"])
      assert.deepStrictEqual(facts(listing), [["error", "malformed_tool", "bad", ["inputSchema", "type"]]])
    }
  )

  it("keeps schemas to the letter, and keys it does not know", () => {
    const entries = [
      tool("a", {
        inputSchema: {},
        outputSchema: { type: ["array", "null"] },
        execution: { taskSupport: 7 },
        later: null
      }),
      tool("b", { inputSchema: { type: ["object", "null"], properties: 1, required: "all", $schema: null } }),
      tool("c", { title: "C", description: "", icons: [{ src: "data:,", sizes: ["any"] }], _meta: {} }),
      tool("d", { annotations: { title: "D", readOnlyHint: true, x: 1 } }),
      JSON.parse('{"name":"e","inputSchema":{"__proto__":{"type":"int"}},"__proto__":{"name":1}}') as object
    ]
    assertUntouched(Listing.tools(entries), entries)
  })

  it("keeps the schemas of a tool that loses something else", () => {
    const inputSchema = { type: "object", properties: { deep: { $ref: "#/$defs/x" } } }
    const outputSchema = { not: {} }
    const [item] = Listing.tools([{ name: "a", inputSchema, outputSchema, title: 1, later: [1] }]).items
    assert.strictEqual(item!.inputSchema, inputSchema)
    assert.strictEqual(item!.outputSchema, outputSchema)
    assert.deepStrictEqual<unknown>(item, { name: "a", inputSchema, outputSchema, later: [1] })
  })

  it("takes null at an optional key for nothing, without a word", () => {
    const listing = Listing.tools([
      tool("a", {
        title: null,
        description: null,
        outputSchema: null,
        icons: null,
        _meta: null,
        annotations: { title: null, readOnlyHint: null, idempotentHint: true }
      }),
      tool("b", { annotations: null })
    ])
    assert.deepStrictEqual<unknown>(listing, {
      items: [tool("a", { annotations: { idempotentHint: true } }), tool("b")],
      diagnostics: []
    })
  })

  it("takes out what is wrong at optional keys, and nothing else", () => {
    const entry = tool("a", {
      title: 1,
      description: {},
      outputSchema: true,
      icons: [{ src: "a.png", mimeType: 1, sizes: ["any", 48], theme: "dark" }, null, { mimeType: "image/png" }],
      _meta: [],
      annotations: { readOnlyHint: "yes", destructiveHint: false, title: 1, x: 1 }
    })
    const before = structuredClone(entry)
    const listing = Listing.tools([entry, tool("b", { icons: {}, annotations: "read-only" })])
    assert.deepStrictEqual<unknown>(listing.items, [
      tool("a", {
        icons: [{ src: "a.png", sizes: ["any"], theme: "dark" }],
        annotations: { destructiveHint: false, x: 1 }
      }),
      tool("b")
    ])
    const detail = (subject: string, ...path: ReadonlyArray<unknown>) => ["warning", "malformed_detail", subject, path]
    assert.deepStrictEqual<unknown>(facts(listing), [
      detail("a", "title"),
      detail("a", "description"),
      detail("a", "icons", 0, "mimeType"),
      detail("a", "icons", 0, "sizes", 1),
      detail("a", "icons", 1),
      detail("a", "icons", 2, "src"),
      detail("a", "_meta"),
      detail("a", "outputSchema"),
      detail("a", "annotations", "title"),
      detail("a", "annotations", "readOnlyHint"),
      detail("b", "icons"),
      detail("b", "annotations")
    ])
    assert.deepStrictEqual(messages(listing).slice(-2), [
      "icons: expected an array, found an object; it is ignored",
      "annotations: expected an object, found a string; it is ignored"
    ])
    assert.deepStrictEqual(entry, before)
  })

  it("gives a name to the first good tool that has it, not to a bad one before", () => {
    const good = tool("a")
    const listing = Listing.tools([{ name: "a" }, good, tool("a", { title: 1 })])
    assert.deepStrictEqual(listing.items, [good])
    assert.strictEqual(listing.items[0], good)
    assert.deepStrictEqual(facts(listing), [
      ["error", "malformed_tool", "a", ["inputSchema"]],
      ["error", "duplicate_tool", "a", ["name"]]
    ])
  })

  it("never repeats a value", () => {
    const secret = "canary-5eb63bbb"
    const listing = Listing.tools(
      [
        secret,
        tool("a", { inputSchema: secret }),
        tool("b", { inputSchema: { type: secret } }),
        tool("c", { title: [secret], annotations: { readOnlyHint: secret }, icons: [secret] }),
        tool("d", { inputSchema: { properties: { a: { "x-mcp-header": `${secret} `, type: "string" } } } }),
        tool("e", { inputSchema: { properties: { [`Bearer ${secret}`]: { "x-mcp-header": "X" } } } })
      ],
      { headers: true }
    )
    assert.strictEqual(listing.diagnostics.length, 8)
    assert.notInclude(JSON.stringify(listing.diagnostics), secret)
  })

  it("reports up to a hundred, and how many there are besides", () => {
    const listing = Listing.tools([...Array.from({ length: 250 }, () => null), tool("good")])
    assert.deepStrictEqual(names(listing), ["good"])
    assert.strictEqual(listing.diagnostics.length, 101)
    assert.deepStrictEqual(listing.diagnostics.at(-1), {
      severity: "warning",
      code: "more_diagnostics",
      message: "150 more are not shown"
    })
    assert.strictEqual(Listing.tools(Array.from({ length: 100 }, () => null)).diagnostics.length, 100)
  })
})

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

  it("says what is wrong", () => {
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

describe("resources", () => {
  it("keeps the good ones as they are", () => {
    const entries = [
      { uri: "file:///a", name: "a" },
      {
        uri: "file:///b",
        name: "a",
        size: 0,
        annotations: { audience: ["user"], priority: 1, lastModified: "" },
        x: null
      }
    ]
    assertUntouched(Listing.resources(entries), entries)
  })

  it("leaves out what has no uri or no name, and a second of the same uri", () => {
    const listing = Listing.resources([
      { name: "a" },
      { uri: "file:///a" },
      { uri: "file:///a", name: "a" },
      { uri: "file:///a", name: "b" },
      null
    ])
    assert.deepStrictEqual<unknown>(listing.items, [{ uri: "file:///a", name: "a" }])
    assert.deepStrictEqual(facts(listing), [
      ["error", "malformed_resource", "a", ["uri"]],
      ["error", "malformed_resource", "file:///a", ["name"]],
      ["error", "duplicate_resource", "file:///a", ["uri"]],
      ["error", "malformed_resource", undefined, []]
    ])
  })

  it("takes out what is wrong at optional keys", () => {
    const entry = {
      uri: "u",
      name: "n",
      mimeType: 1,
      size: "1",
      annotations: { audience: "user", priority: null },
      icons: 1
    }
    const listing = Listing.resources([entry])
    assert.deepStrictEqual<unknown>(listing.items, [{ uri: "u", name: "n", annotations: {} }])
    assert.deepStrictEqual(
      listing.diagnostics.map(({ path }) => path),
      [["icons"], ["mimeType"], ["annotations", "audience"], ["size"]]
    )
  })
})

describe("resourceTemplates", () => {
  it("tells them apart by their uriTemplate", () => {
    const good = { uriTemplate: "file:///{path}", name: "a", description: "d" }
    const listing = Listing.resourceTemplates([{ name: "b" }, good, { ...good, name: "c" }])
    assert.deepStrictEqual(listing.items, [good])
    assert.strictEqual(listing.items[0], good)
    assert.deepStrictEqual(facts(listing), [
      ["error", "malformed_resource_template", "b", ["uriTemplate"]],
      ["error", "duplicate_resource_template", "file:///{path}", ["uriTemplate"]]
    ])
    assert.strictEqual(
      messages(listing)[0],
      "the resource template is left out: uriTemplate: expected a string, found nothing"
    )
  })
})

describe("prompts", () => {
  it("keeps the good ones as they are, and fills in absent arguments", () => {
    const entries = [
      { name: "a", arguments: [] },
      { name: "b", arguments: [{ name: "x", title: "X", required: true, later: 1 }] }
    ]
    assertUntouched(Listing.prompts(entries), entries)
    assert.deepStrictEqual<unknown>(Listing.prompts([{ name: "c" }, { name: "d", arguments: null, x: 1 }]), {
      items: [
        { name: "c", arguments: [] },
        { name: "d", arguments: [], x: 1 }
      ],
      diagnostics: []
    })
  })

  it("has the same default in its schema", () => {
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(Listing.ListedPrompt)({ name: "a", x: 1 }), {
      name: "a",
      arguments: [],
      x: 1
    })
  })

  it("ignores arguments that are none, and leaves out the malformed one", () => {
    const good = { name: "x" }
    const listing = Listing.prompts([
      { name: "a", arguments: { x: {} } },
      { name: "b", arguments: [{ description: "?" }, good, "y", { name: "z", required: "yes", description: null }] },
      { arguments: [] }
    ])
    assert.deepStrictEqual<unknown>(listing.items, [
      { name: "a", arguments: [] },
      { name: "b", arguments: [good, { name: "z" }] }
    ])
    assert.strictEqual(listing.items[1]!.arguments[0], good)
    assert.deepStrictEqual(facts(listing), [
      ["warning", "malformed_detail", "a", ["arguments"]],
      ["warning", "malformed_detail", "b", ["arguments", 0, "name"]],
      ["warning", "malformed_detail", "b", ["arguments", 2]],
      ["warning", "malformed_detail", "b", ["arguments", 3, "required"]],
      ["error", "malformed_prompt", undefined, ["name"]]
    ])
  })
})
