/** Checks that everything accepted from a server can be encoded by every schema of the control API that it passes. */
import { assert, describe, it } from "@effect/vitest"
import { Exit, FastCheck as fc, Schema } from "effect"
import { callResult, decodeResult } from "../../src/connection/session/results.js"
import * as Listing from "../../src/domain/catalog/Listing.js"
import * as Protocol from "../../src/domain/catalog/Protocol.js"
import { Listings } from "../../src/domain/catalog/Catalog.js"
import { runs } from "./runs.js"

/** Wraps a value in a number of arrays and objects. */
const within = (levels: number, inmost: unknown, hasKeys: boolean): unknown => {
  let value = inmost
  for (let level = 0; level < levels; level += 1) value = hasKeys ? { a: value } : [value]
  return value
}

/** Depths on both sides of the limit, and far beyond the capacity of the stack. */
const nested = fc
  .tuple(fc.oneof(fc.nat(20), fc.integer({ min: 480, max: 520 }), fc.constant(20_000)), fc.jsonValue(), fc.boolean())
  .map(([levels, inmost, hasKeys]) => within(levels, inmost, hasKeys))

const encodes = <A, I>(schema: Schema.Schema<A, I>) => {
  const encode = Schema.encodeSync(Schema.parseJson(schema))
  return (value: A) => {
    const text = encode(value)
    assert.strictEqual(JSON.stringify(JSON.parse(text)), text)
  }
}

const encodeListings = encodes(Listings)
const encodeTools = encodes(Schema.Array(Protocol.Tool))

describe("accepted JSON", () => {
  it("of a list can be encoded, and omitted parts are reported", () =>
    fc.assert(
      fc.property(nested, nested, fc.constantFrom("_meta", "annotations", "inputSchema", "x"), (one, other, key) => {
        const tools = Listing.tools([
          { name: "plain", inputSchema: { type: "object" } },
          { name: "one", inputSchema: { type: "object", properties: one } },
          { name: "other", inputSchema: { type: "object" }, [key]: { other } }
        ])
        const resources = Listing.resources([{ uri: "a:b", name: "r", [key]: one }])
        const resourceTemplates = Listing.resourceTemplates([{ uriTemplate: "a:{b}", name: "r", _meta: { other } }])
        const prompts = Listing.prompts([{ name: "p", arguments: [{ name: "a", x: one }] }])
        assert.strictEqual(tools.items[0]!.name, "plain")
        encodeListings({
          tools: tools.items,
          resources: resources.items,
          resourceTemplates: resourceTemplates.items,
          prompts: prompts.items
        })
        encodeTools(
          tools.items.map((tool) => ({
            ...tool,
            description: tool.description ?? "",
            server: "s",
            rawName: tool.name,
            name: tool.name
          }))
        )
        assert.strictEqual(
          tools.items.length + tools.diagnostics.filter(({ severity }) => severity === "error").length,
          3
        )
      }),
      runs(100)
    ))

  const results = [
    [
      "a call",
      (it: unknown) => callResult("s", { content: [{ type: "text", text: "", x: it }] }),
      Protocol.CallToolResult
    ],
    ["a call", (it: unknown) => callResult("s", { content: [], structuredContent: { it } }), Protocol.CallToolResult],
    [
      "a resource",
      (it: unknown) =>
        decodeResult("s", Protocol.ReadResourceResult, { contents: [{ uri: "a:b", text: "", _meta: { it } }] }),
      Protocol.ReadResourceResult
    ],
    [
      "a prompt",
      (it: unknown) =>
        decodeResult("s", Protocol.GetPromptResult, {
          messages: [{ role: "user", content: { type: "text", text: "", x: it } }]
        }),
      Protocol.GetPromptResult
    ]
  ] as const

  for (const [what, accept, schema] of results) {
    it(`of ${what} can be encoded; other JSON is an InvalidResult`, () =>
      fc.assert(
        fc.property(nested, (value) => {
          const exit = accept(value) as Exit.Exit<unknown, { readonly _tag: string }>
          if (Exit.isSuccess(exit)) encodes(schema as unknown as Schema.Schema<unknown>)(exit.value)
          else assert.strictEqual(exit.cause._tag === "Fail" ? exit.cause.error._tag : exit.cause._tag, "InvalidResult")
        }),
        runs(100)
      ))
  }
})
