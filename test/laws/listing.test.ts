import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import { Diagnostic } from "../../src/domain/Diagnostic.js"
import * as Listing from "../../src/domain/catalog/Listing.js"

/** Any JSON, with frequent occurrences of the important keys. */
const keys = fc.constantFrom(
  ..."name uri uriTemplate title description inputSchema outputSchema annotations arguments icons _meta src type".split(
    " "
  ),
  ..."properties items anyOf $defs x-mcp-header readOnlyHint required size mimeType __proto__ constructor other".split(
    " "
  )
)

const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    fc.constantFrom<unknown>(null, true, "", "a", "b", "object", "string", 0, 1.5),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie("json")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries))
  )
}))

const name = fc.constantFrom("a", "b", "c", "d", "e", "f")

/** Entries that are like valid ones, with other values at some keys. */
const almost = fc
  .tuple(name, fc.dictionary(keys, json, { maxKeys: 3 }))
  .map(([name, more]) => ({ name, uri: name, uriTemplate: name, inputSchema: {}, ...more }))

const entries = fc.array(fc.oneof(json, almost, fc.jsonValue() as fc.Arbitrary<unknown>), { maxLength: 12 })

const kinds = {
  tools: { salvage: Listing.tools, schema: Listing.ListedTool, id: "name" },
  toolsWithHeaders: {
    salvage: (entries: ReadonlyArray<unknown>) => Listing.tools(entries, { headers: true }),
    schema: Listing.ListedTool,
    id: "name"
  },
  resources: { salvage: Listing.resources, schema: Listing.ListedResource, id: "uri" },
  resourceTemplates: { salvage: Listing.resourceTemplates, schema: Listing.ListedResourceTemplate, id: "uriTemplate" },
  prompts: { salvage: Listing.prompts, schema: Listing.ListedPrompt, id: "name" }
} as const

const good = (id: string) => ({
  name: id,
  uri: id,
  uriTemplate: id,
  description: "d",
  inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" }, any: true } },
  outputSchema: { $ref: "#" },
  annotations: { priority: 1, readOnlyHint: false, later: null },
  arguments: [{ name: "x" }],
  later: [null]
})

describe.each(Object.entries(kinds))("%s", (_, { id, salvage, schema }) => {
  const idOf = (item: unknown) => (item as Record<string, unknown>)[id]

  it("accepts any JSON and returns only valid entries", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        const { diagnostics, items } = salvage(entries)
        for (const item of items) assert.isTrue(Schema.is(schema as Schema.Schema<unknown>)(item))
        for (const diagnostic of diagnostics) assert.isTrue(Schema.is(Diagnostic)(diagnostic))
      })
    ))

  it("does not change its input", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        const before = structuredClone(entries)
        salvage(entries)
        assert.deepStrictEqual(entries, before)
      })
    ))

  it("keeps every valid entry unchanged, whatever the others are", () =>
    fc.assert(
      fc.property(entries, fc.array(fc.nat({ max: 20 }), { maxLength: 8 }), (others, positions) => {
        const list = [...others]
        const added = new Set<unknown>()
        for (const [index, position] of positions.entries()) {
          const entry = good(`good${index}`)
          list.splice(position, 0, entry)
          added.add(entry)
        }
        const { diagnostics, items } = salvage(list)
        const kept: ReadonlyArray<unknown> = items.filter((item) => added.has(item))
        const expected = list.filter((entry) => added.has(entry))
        assert.strictEqual(kept.length, expected.length)
        for (const [index, item] of kept.entries()) assert.strictEqual(item, expected[index])
        for (const { subject } of diagnostics) assert.notMatch(subject ?? "", /^good/)
      })
    ))

  it("treats each entry as if it were alone, in order; the first with an id wins", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        const alone = entries.flatMap((entry): ReadonlyArray<unknown> => salvage([entry]).items)
        const firsts = alone.filter((item, index) => alone.findIndex((other) => idOf(other) === idOf(item)) === index)
        const items: ReadonlyArray<unknown> = salvage(entries).items
        assert.deepStrictEqual(items, firsts)
        for (const [index, item] of items.entries()) {
          if (entries.includes(firsts[index])) assert.strictEqual(item, firsts[index])
        }
      })
    ))

  it("reports every omitted entry", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        const { diagnostics, items } = salvage(entries)
        const leftOut = diagnostics.filter(({ severity }) => severity === "error").length
        const unshown = diagnostics.some(({ code }) => code === "more_diagnostics")
        if (!unshown) assert.strictEqual(leftOut, entries.length - items.length)
      })
    ))

  it("accepts its own result without an issue", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        const { items } = salvage(entries)
        const again = salvage(items)
        assert.deepStrictEqual(again.diagnostics, [])
        assert.strictEqual(again.items.length, items.length)
        for (const [index, item] of again.items.entries()) assert.strictEqual(item, items[index])
      })
    ))

  it("gives equal results for equal input", () =>
    fc.assert(
      fc.property(entries, (entries) => {
        assert.deepStrictEqual(salvage(entries), salvage(structuredClone(entries)))
      })
    ))
})
