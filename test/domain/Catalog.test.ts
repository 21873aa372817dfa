import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as Catalog from "../../src/domain/catalog/Catalog.js"
import type { ListedTool } from "../../src/domain/catalog/Listing.js"

const tool = (name: string, more: object = {}): ListedTool => ({ name, inputSchema: { type: "object" }, ...more })
const listings = (more: Partial<Catalog.Listings>): Catalog.Listings => ({ ...Catalog.noListings, ...more })
const source = (server: string, tools: ReadonlyArray<ListedTool>, globs = {}): Catalog.Source => ({
  server,
  listings: listings({ tools }),
  tools: globs
})
const clone = <A>(value: A): A => JSON.parse(JSON.stringify(value))
const names = (catalog: Catalog.Catalog) => catalog.tools.map(({ name }) => name)

const full = listings({
  tools: [tool("read", { title: "Read", outputSchema: {}, annotations: { readOnlyHint: true }, extra: 1 })],
  resources: [{ uri: "file:///a", name: "a", mimeType: "text/plain", size: 3 }],
  resourceTemplates: [{ uriTemplate: "file:///{x}", name: "x" }],
  prompts: [{ name: "p", arguments: [{ name: "q" }] }]
})

describe("a merged catalog", () => {
  it("contains what the servers list, in the order of servers and lists, with unchanged schemas", () => {
    const { catalog, diagnostics } = Catalog.merger({ configured: ["files", "git"] })(
      [
        { server: "files", listings: full, tools: {} },
        source("git", [tool("log"), tool("diff", { description: "d" })])
      ],
      7
    )
    assert.deepStrictEqual(catalog, {
      revision: 7,
      tools: [
        {
          name: "files_read",
          server: "files",
          rawName: "read",
          title: "Read",
          description: "",
          inputSchema: { type: "object" },
          outputSchema: {},
          annotations: { readOnlyHint: true }
        },
        { name: "git_log", server: "git", rawName: "log", description: "", inputSchema: { type: "object" } },
        { name: "git_diff", server: "git", rawName: "diff", description: "d", inputSchema: { type: "object" } }
      ],
      resources: [{ server: "files", uri: "file:///a", name: "a", mimeType: "text/plain" }],
      resourceTemplates: [{ server: "files", uriTemplate: "file:///{x}", name: "x" }],
      prompts: [{ server: "files", name: "p", arguments: [{ name: "q" }] }]
    })
    assert.strictEqual(catalog.tools[0]!.inputSchema, full.tools[0]!.inputSchema)
    assert.strictEqual(diagnostics.size, 0)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Catalog.Catalog)(clone(catalog)), catalog)
  })

  it("omits what filters hide, unless the agent's filters show it", () => {
    const sources = [source("files", [tool("read"), tool("write")], { write: false }), source("git", [tool("log")])]
    const options = { configured: ["files", "git"], global: { "git_*": false } }
    assert.deepStrictEqual(names(Catalog.merger(options)(sources, 1).catalog), ["files_read"])
    const agent = { "git_*": true, files_read: false }
    assert.deepStrictEqual(names(Catalog.merger({ ...options, agent })(sources, 1).catalog), ["git_log"])
  })

  it("reports patterns of a server that match nothing, once it lists tools", () => {
    const merge = Catalog.merger({ configured: ["a"], global: { nothing: true } })
    const globs = { "x_*": false, "r*": true, y: false }
    assert.strictEqual(merge([source("a", [], globs)], 1).diagnostics.size, 0)
    const reported = merge([source("a", [tool("read")], globs)], 2).diagnostics.get("a")!
    assert.deepStrictEqual(
      reported.map(({ code, path, severity }) => ({ code, path, severity })),
      ["x_*", "y"].map((pattern) => ({
        code: "pattern_without_match",
        path: ["tools", pattern],
        severity: "warning" as const
      }))
    )
    assert.include(reported[0]!.message, '"x_*"')
  })

  it("lists neither of two tools whose names collide, and reports it for both servers", () => {
    // a real collision of 50 bits
    const one = source("s:", [tool("//:$+.!."), tool("fine")])
    const other = source("s.", [tool("==^!|:@.")])
    const merge = Catalog.merger({ configured: ["s:", "s."] })
    const { catalog, diagnostics } = merge([one, other], 1)
    assert.deepStrictEqual(
      catalog.tools.map(({ rawName }) => rawName),
      ["fine"]
    )
    for (const [server, subject] of [
      ["s:", "//:$+.!."],
      ["s.", "==^!|:@."]
    ] as const) {
      const [report, ...more] = diagnostics.get(server)!
      assert.deepStrictEqual([report!.code, report!.severity, report!.subject], ["name_collision", "error", subject])
      assert.strictEqual(more.length, 0)
    }
    // hiding one shows the other one
    assert.strictEqual(merge([one, { ...other, tools: { "*": false } }], 2).catalog.tools.length, 2)
  })

  it("reports two colliding tools of one server for that server", () => {
    const { catalog, diagnostics } = Catalog.merger({ configured: ["s"] })(
      [source("s", [tool("!%$!:+.."), tool("::||+#!.")])],
      1
    )
    assert.deepStrictEqual(catalog.tools, [])
    assert.strictEqual(diagnostics.get("s")!.length, 2)
  })

  it("contains a tool that is listed twice once", () => {
    const merge = Catalog.merger({ configured: ["a"] })
    assert.deepStrictEqual(names(merge([source("a", [tool("x"), tool("x"), tool("y")])], 1).catalog), ["a_x", "a_y"])
  })

  it("reuses entries while lists stay the same, also with a new merger", () => {
    const sources = [{ server: "files", listings: full, tools: {} }, source("git", [tool("log")])]
    const merge = Catalog.merger({ configured: ["files", "git"] })
    const before = merge(sources, 1).catalog
    const after = merge([sources[0]!, source("git", [tool("log")])], 2).catalog
    assert.strictEqual(after.tools[0], before.tools[0])
    assert.notStrictEqual(after.tools[1], before.tools[1])
    assert.strictEqual(after.resources[0], before.resources[0])
    assert.isTrue(Catalog.same(before, Catalog.merger({ configured: ["files", "git", "new"] })(sources, 3).catalog))
    assert.isFalse(Catalog.same(before, after))
  })
})

describe("a lookup", () => {
  const { catalog } = Catalog.merger({ configured: ["a", "b"] })(
    [source("a", [tool("x"), tool("y")]), source("b", [tool("x")])],
    1
  )

  it("finds a tool by its public name", () => {
    assert.strictEqual(Option.getOrThrow(Catalog.get(catalog, "b_x")), catalog.tools[2])
    assert.isTrue(Option.isNone(Catalog.get(catalog, "b_y")))
    assert.isTrue(Option.isNone(Catalog.get(Catalog.empty, "toString")))
  })

  it("finds a tool by its server and raw name", () => {
    assert.strictEqual(Catalog.find(catalog, "a", "y"), catalog.tools[1])
    assert.isUndefined(Catalog.find(catalog, "b", "y"))
    assert.isUndefined(Catalog.find(catalog, "c", "y"))
  })
})

describe("retaining", () => {
  it("returns the old list if nothing differs", () => {
    assert.strictEqual(Catalog.retain(full, clone(full)), full)
    assert.strictEqual(Catalog.retain(full, full), full)
  })

  it("reuses equal entries, wherever they moved", () => {
    const before = listings({ tools: [tool("a"), tool("b"), tool("c")], prompts: full.prompts })
    const after = listings({ tools: [tool("c"), tool("a", { title: "A" }), tool("d")], prompts: clone(full.prompts) })
    const retained = Catalog.retain(before, after)
    assert.deepStrictEqual(retained, after)
    assert.strictEqual(retained.tools[0], before.tools[2])
    assert.strictEqual(retained.tools[1], after.tools[1])
    assert.strictEqual(retained.prompts, before.prompts)
  })

  it("returns the new lists if nothing is equal", () => {
    assert.strictEqual(Catalog.retain(Catalog.noListings, full), full)
  })

  it.each<[string, unknown, unknown]>([
    ["the order of a list", ["a", "b"], ["b", "a"]],
    ["the length of a list", ["a"], ["a", "b"]],
    ["a list and an object", [], {}],
    ["an object and a list", {}, []],
    ["a key", { a: 1 }, { b: 1 }],
    ["the number of keys", { a: 1 }, { a: 1, b: 1 }],
    ["null", null, {}],
    ["a value", 1, "1"],
    ["what is no JSON", new Date(0), new Date(0)]
  ])("sees a difference in %s", (_, one, other) => {
    const after = listings({ tools: [tool("a", { extra: other })] })
    assert.strictEqual(Catalog.retain(listings({ tools: [tool("a", { extra: one })] }), after), after)
  })

  it("ignores the order of keys and accepts any depth", () => {
    const before = listings({ tools: [tool("a", { extra: { x: 1, y: 2 } })] })
    assert.strictEqual(Catalog.retain(before, listings({ tools: [tool("a", { extra: { y: 2, x: 1 } })] })), before)
    const deep = () => {
      let value: unknown = {}
      for (let level = 0; level < 100_000; level++) value = { value }
      return listings({ tools: [tool("a", { extra: value })] })
    }
    const after = deep()
    assert.strictEqual(Catalog.retain(deep(), after), after)
  })
})

describe("changes", () => {
  const catalogOf = (...sources: ReadonlyArray<Catalog.Source>) =>
    Catalog.merger({ configured: ["a", "b"] })(sources, 1).catalog

  it("are reported by server and kind", () => {
    const before = catalogOf(source("a", [tool("x")]), { server: "b", listings: full, tools: {} })
    const after = catalogOf(source("a", [tool("y")]))
    assert.deepStrictEqual(Catalog.changes(before, after), [
      { server: "a", kind: "tools", added: ["a_y"], removed: ["a_x"] },
      { server: "b", kind: "tools", added: [], removed: ["b_read"] },
      { server: "b", kind: "resources", added: [], removed: ["file:///a", "file:///{x}"] },
      { server: "b", kind: "prompts", added: [], removed: ["p"] }
    ])
  })

  it("of a definition name no added and no removed entry", () => {
    const before = catalogOf(source("a", [tool("x")]))
    const after = catalogOf(source("a", [tool("x", { description: "new" })]))
    assert.deepStrictEqual(Catalog.changes(before, after), [{ server: "a", kind: "tools", added: [], removed: [] }])
  })

  it("of a template are distinguished from a resource with the same text", () => {
    const resources = [{ uri: "u", name: "r" }]
    const before = catalogOf({
      server: "a",
      listings: listings({ resources, resourceTemplates: [{ uriTemplate: "u", name: "t" }] }),
      tools: {}
    })
    const after = catalogOf({ server: "a", listings: listings({ resources }), tools: {} })
    assert.deepStrictEqual(Catalog.changes(before, after), [{ server: "a", kind: "resources", added: [], removed: [] }])
  })
})
