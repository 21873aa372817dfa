import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Diagnostic } from "../../src/domain/Diagnostic.js"
import * as Listing from "../../src/domain/catalog/Listing.js"
import { tool, facts, messages, names, assertUntouched } from "./support/listings.js"

describe("the id of an entry", () => {
  it("has a maximum length, above which the entry is omitted", () => {
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
  it("keeps the valid ones of ten tools, and reports each invalid one with a path", () => {
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

  it("omits values that are no entries, and keeps the others", () => {
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

  it.each([[undefined], [null], [[]], [true], ["object"]])("omits a tool whose inputSchema is %j", (inputSchema) => {
    const listing = Listing.tools([tool("bad", { inputSchema }), tool("good")])
    assert.deepStrictEqual(names(listing), ["good"])
    assert.deepStrictEqual(facts(listing), [["error", "malformed_tool", "bad", ["inputSchema"]]])
  })

  it.each([[null], ["string"], [["string", "null"]], [[]], [1], [{}]])(
    "omits a tool with an inputSchema of type %j",
    (type) => {
      const listing = Listing.tools([tool("bad", { inputSchema: { type } }), tool("good")])
      assert.deepStrictEqual(names(listing), ["good"])
      assert.deepStrictEqual(facts(listing), [["error", "malformed_tool", "bad", ["inputSchema", "type"]]])
    }
  )

  it("keeps schemas unchanged, and unknown keys", () => {
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

  it("keeps the schemas of a tool with another invalid key", () => {
    const inputSchema = { type: "object", properties: { deep: { $ref: "#/$defs/x" } } }
    const outputSchema = { not: {} }
    const [item] = Listing.tools([{ name: "a", inputSchema, outputSchema, title: 1, later: [1] }]).items
    assert.strictEqual(item!.inputSchema, inputSchema)
    assert.strictEqual(item!.outputSchema, outputSchema)
    assert.deepStrictEqual<unknown>(item, { name: "a", inputSchema, outputSchema, later: [1] })
  })

  it("treats null at an optional key as absent, without a diagnostic", () => {
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

  it("omits only invalid values of optional keys", () => {
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

  it("keeps the first valid tool with a name, even after an invalid one", () => {
    const good = tool("a")
    const listing = Listing.tools([{ name: "a" }, good, tool("a", { title: 1 })])
    assert.deepStrictEqual(listing.items, [good])
    assert.strictEqual(listing.items[0], good)
    assert.deepStrictEqual(facts(listing), [
      ["error", "malformed_tool", "a", ["inputSchema"]],
      ["error", "duplicate_tool", "a", ["name"]]
    ])
  })

  it("shows no value in a diagnostic", () => {
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

  it("reports up to a hundred issues, and the number of further ones", () => {
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

describe("resources", () => {
  it("keeps valid ones unchanged", () => {
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

  it("omits entries without uri or name, and a second one with the same uri", () => {
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

  it("omits invalid values of optional keys", () => {
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
  it("identifies them by their uriTemplate", () => {
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
  it("keeps valid ones unchanged, and fills in absent arguments", () => {
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

  it("has the default of its schema", () => {
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(Listing.ListedPrompt)({ name: "a", x: 1 }), {
      name: "a",
      arguments: [],
      x: 1
    })
  })

  it("ignores arguments that are no list, and omits the invalid one", () => {
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
