import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Catalog from "../../src/domain/catalog/Catalog.js"
import * as ToolName from "../../src/domain/catalog/ToolName.js"
import { runs } from "./runs.js"

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom("a", "b", "_") }),
  fc.constantFrom("a.b", "a b", "名前", "supervisor", "x".repeat(70), "__proto__")
)
const schema = fc.constantFrom<Record<string, unknown>>({}, { type: "object" }, { type: "object", required: ["a"] })
const listed = fc.record({ name: word, inputSchema: schema })
const located = fc.record({ uri: word, name: word })

const listings: fc.Arbitrary<Catalog.Listings> = fc.record({
  tools: fc.array(listed, { maxLength: 5 }),
  resources: fc.array(located, { maxLength: 3 }),
  resourceTemplates: fc.array(fc.record({ uriTemplate: word, name: word }), { maxLength: 3 }),
  prompts: fc.array(fc.record({ name: word, arguments: fc.constant([]) }), { maxLength: 3 })
})

const globs = fc.dictionary(fc.oneof(word, fc.constantFrom("*", "a*", "*_b")), fc.boolean(), { maxKeys: 3 })
const sources: fc.Arbitrary<ReadonlyArray<Catalog.Source>> = fc.uniqueArray(
  fc.record({ server: word, listings, tools: globs }),
  { maxLength: 5, selector: ({ server }) => server }
)
const options = fc.record({ global: globs, agent: fc.option(globs, { nil: undefined }) })

const configured = (sources: ReadonlyArray<Catalog.Source>) => sources.map(({ server }) => server)
const clone = <A>(value: A): A => JSON.parse(JSON.stringify(value))
const pairs = (catalog: Catalog.Catalog) =>
  catalog.tools.map((tool) => JSON.stringify([tool.name, tool.server, tool.rawName]))

describe("a merged catalog", () => {
  it("has valid names, each once", () =>
    fc.assert(
      fc.property(sources, options, (sources, options) => {
        const { tools } = Catalog.merger({ configured: configured(sources), ...options })(sources, 1).catalog
        for (const { name } of tools) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
        assert.strictEqual(new Set(tools.map(({ name }) => name)).size, tools.length)
      }),
      runs(500)
    ))

  it("does not depend on the order of the servers", () =>
    fc.assert(
      fc.property(sources, options, (sources, options) => {
        const merge = Catalog.merger({ configured: configured(sources), ...options })
        assert.sameMembers(pairs(merge(sources, 1).catalog), pairs(merge(sources.toReversed(), 2).catalog))
      }),
      runs(500)
    ))

  it("has the same names, whatever other servers are present", () =>
    fc.assert(
      fc.property(sources, options, fc.nat(), (sources, options, without) => {
        const merge = Catalog.merger({ configured: configured(sources), ...options })
        const absent = sources[without % Math.max(1, sources.length)]?.server
        const all = merge(sources, 1).catalog.tools
        const some = merge(
          sources.filter(({ server }) => server !== absent),
          2
        ).catalog.tools
        assert.deepStrictEqual(
          some,
          all.filter(({ server }) => server !== absent)
        )
      }),
      runs(500)
    ))

  it("lists exactly what no filter hides", () =>
    fc.assert(
      fc.property(sources, options, (sources, options) => {
        const { catalog } = Catalog.merger({ configured: configured(sources), ...options })(sources, 1)
        for (const { listings, server, tools } of sources) {
          const offered = ToolName.filter({ ...options, server: tools })
          for (const { name } of listings.tools) {
            assert.strictEqual(Catalog.find(catalog, server, name) !== undefined, offered({ server, tool: name }))
          }
        }
      }),
      runs(500)
    ))

  it("is equal from a reused merger and from a new one", () =>
    fc.assert(
      fc.property(sources, sources, options, (before, after, options) => {
        const names = [...configured(before), ...configured(after)]
        const merge = Catalog.merger({ configured: names, ...options })
        merge(before, 1)
        const fresh = Catalog.merger({ configured: names, ...options })(after, 2)
        const remembered = merge(after, 2)
        assert.deepStrictEqual(remembered, fresh)
        assert.isTrue(Catalog.same(remembered.catalog, fresh.catalog))
      }),
      runs(500)
    ))
})

describe("retaining", () => {
  it("returns lists that equal the new ones", () =>
    fc.assert(
      fc.property(listings, listings, (a, b) => assert.deepStrictEqual(Catalog.retain(a, b), b)),
      runs(500)
    ))

  it("returns the old lists if they are equal", () =>
    fc.assert(
      fc.property(listings, (a) => assert.strictEqual(Catalog.retain(a, clone(a)), a)),
      runs(500)
    ))

  it("changes nothing the second time", () =>
    fc.assert(
      fc.property(listings, listings, (a, b) => {
        const once = Catalog.retain(a, b)
        assert.strictEqual(Catalog.retain(a, once), once)
      }),
      runs(500)
    ))
})

describe("changes", () => {
  const merged = (sources: ReadonlyArray<Catalog.Source>) =>
    Catalog.merger({ configured: configured(sources) })(sources, 1).catalog

  it("from a catalog to itself are none", () =>
    fc.assert(
      fc.property(sources, (sources) => {
        assert.deepStrictEqual(Catalog.changes(merged(sources), merged(sources)), [])
      }),
      runs(500)
    ))

  it("turn the old names into the new ones", () =>
    fc.assert(
      fc.property(sources, sources, (a, b) => {
        const [before, after] = [merged(a), merged(b)]
        const namesOf = (catalog: Catalog.Catalog) =>
          catalog.tools.map(({ name, server }) => JSON.stringify([server, name]))
        const names = new Set(namesOf(before))
        for (const { added, kind, removed, server } of Catalog.changes(before, after)) {
          if (kind !== "tools") continue
          for (const name of removed) assert.isTrue(names.delete(JSON.stringify([server, name])))
          for (const name of added) names.add(JSON.stringify([server, name]))
        }
        assert.sameMembers([...names], namesOf(after))
      }),
      runs(500)
    ))
})

describe("a catalog that is updated one server at a time", () => {
  /** Two pairs of tools whose public names collide in all 50 bits, and tools without a collision. */
  const colliding = fc.constantFrom<readonly [string, string]>(
    ["s:", "//:$+.!."],
    ["s.", "==^!|:@."],
    ["s", "!%$!:+.."],
    ["s", "::||+#!."],
    ["s", "x"],
    ["s:", "x"]
  )
  const collidingSources = fc.array(colliding, { maxLength: 8 }).map((pairs) =>
    [...new Set(pairs.map(([server]) => server))].map(
      (server): Catalog.Source => ({
        server,
        listings: {
          ...Catalog.noListings,
          tools: pairs.filter(([each]) => each === server).map(([, name]) => ({ name, inputSchema: {} }))
        },
        tools: {}
      })
    )
  )
  const steps = fc.oneof(
    fc.array(sources, { minLength: 1, maxLength: 4 }),
    fc.array(collidingSources, { minLength: 1, maxLength: 5 })
  )

  /** Compares an assembly after a change with merged catalogs of all servers before and after it. */
  const agrees = (
    assembly: Catalog.Assembly,
    names: Iterable<string>,
    replaced: Catalog.Replaced,
    before: Catalog.Merged,
    after: Catalog.Merged
  ) => {
    assert.deepStrictEqual(assembly.catalog(1), after.catalog)
    assert.isTrue(Catalog.same(assembly.catalog(1), after.catalog))
    assert.strictEqual(Catalog.same(replaced.before, replaced.after), Catalog.same(before.catalog, after.catalog))
    assert.sameDeepMembers(
      [...Catalog.changes(replaced.before, replaced.after)],
      [...Catalog.changes(before.catalog, after.catalog)]
    )
    const remarked = new Set(replaced.remarked)
    for (const name of names) {
      const said = after.diagnostics.get(name) ?? []
      assert.sameDeepMembers([...assembly.diagnosticsOf(name)], [...said])
      const isOther =
        JSON.stringify((before.diagnostics.get(name) ?? []).map(({ message }) => message).sort()) !==
        JSON.stringify(said.map(({ message }) => message).sort())
      if (isOther) assert.isTrue(remarked.has(name))
    }
  }

  it("equals the merged catalog of all servers, and so do its changes", () =>
    fc.assert(
      fc.property(steps, globs, (steps, global) => {
        const names = [...new Set(steps.flatMap(configured))]
        const inOrder = (sources: ReadonlyArray<Catalog.Source>) =>
          names.flatMap((name) => sources.filter(({ server }) => server === name))
        const assembly = Catalog.assembly({ configured: names, global })
        let present = new Map<string, Catalog.Source>()
        for (const step of steps) {
          const next = new Map(step.map((source) => [source.server, source]))
          for (const server of new Set([...present.keys(), ...next.keys()])) {
            const before = Catalog.merger({ configured: names, global })(inOrder([...present.values()]), 1)
            const source = next.get(server)
            if (source === undefined) present.delete(server)
            else present = new Map(present).set(server, source)
            const after = Catalog.merger({ configured: names, global })(inOrder([...present.values()]), 1)
            agrees(assembly, names, assembly.replace(new Map([[server, source]])), before, after)
          }
        }
      }),
      runs(300)
    ))

  /** Names that are prefixes of others, so that one server renames the tools of another. */
  const beginning = fc.constantFrom("a", "a_b", "a_b_c", "b", "a_", "_a", "supervisor", "s:", "s.", "x".repeat(70))
  const listing = fc.oneof(
    { weight: 3, arbitrary: listings },
    fc
      .subarray(["x", "b_x", "b_c_x", "c_x", "_x", "a_x", "//:$+.!.", "==^!|:@."])
      .map((names) => ({ ...Catalog.noListings, tools: names.map((name) => ({ name, inputSchema: {} })) }))
  )
  const noPatterns: ToolName.Globs = {}
  /** Few listings, so that a server often gets an identical one again. */
  const changesOfServers = fc.array(listing, { minLength: 1, maxLength: 3 }).chain((lists) =>
    fc.array(
      fc.record({
        server: beginning,
        list: fc.option(fc.constantFrom(...lists), { nil: undefined }),
        stays: fc.boolean()
      }),
      { maxLength: 20 }
    )
  )

  it("equals the merged catalog after servers were added and removed", () =>
    fc.assert(
      fc.property(fc.uniqueArray(beginning, { maxLength: 3 }), changesOfServers, globs, (first, changes, global) => {
        const assembly = Catalog.assembly({ configured: first, global })
        const present = new Map<string, Catalog.Source | undefined>(first.map((server) => [server, undefined]))
        const merged = () =>
          Catalog.merger({ configured: present.keys(), global })(
            [...present.values()].filter((source) => source !== undefined),
            1
          )
        for (const { list, server, stays } of changes) {
          const source = list && { server, listings: list, tools: noPatterns }
          const before = merged()
          const names = new Set([...present.keys(), server])
          const isNew = !present.has(server)
          if (isNew || stays) present.set(server, source)
          else present.delete(server)
          const replaced = isNew
            ? assembly.admit(server, source)
            : stays
              ? assembly.replace(new Map([[server, source]]))
              : assembly.dismiss(server)
          agrees(assembly, names, replaced, before, merged())
          assert.deepStrictEqual([...assembly.configured], [...present.keys()])
          for (const [name, source] of present) assert.strictEqual(assembly.source(name), source)
        }
      }),
      runs(1000)
    ))

  it("filters each of many servers by its own patterns, also when they are added one by one", () => {
    const assembly = Catalog.assembly({ configured: [] })
    const count = 1_100
    const sourceOf = (index: number): Catalog.Source => ({
      server: `s${index}`,
      listings: {
        ...Catalog.noListings,
        tools: [`x${index}`, `y${index}`].map((name) => ({ name, inputSchema: {} }))
      },
      tools: { [`x${index}`]: false }
    })
    for (let index = 0; index < count; index++) assembly.admit(`s${index}`, sourceOf(index))
    assert.deepStrictEqual(
      assembly.catalog(1).tools.map(({ name }) => name),
      Array.from({ length: count }, (_, index) => `s${index}_y${index}`)
    )
  })

  it("reads only the servers that an added or removed server affects", () => {
    const names = Array.from({ length: 2000 }, (_, index) => `s${index}`)
    const sourceOf = (server: string): Catalog.Source => ({
      server,
      listings: { ...Catalog.noListings, tools: [{ name: "a_x", inputSchema: {} }] },
      tools: {}
    })
    const assembly = Catalog.assembly({ configured: names })
    assembly.replace(new Map(names.map((name) => [name, sourceOf(name)])))
    const seen = ({ after, before }: Catalog.Replaced) =>
      [before, after].map(({ tools }) => tools.map(({ server }) => server))
    assert.deepStrictEqual(seen(assembly.admit("new", sourceOf("new"))), [[], ["new"]])
    assert.deepStrictEqual(seen(assembly.admit("s7_a", undefined)), [["s7"], ["s7"]])
    assert.deepStrictEqual(seen(assembly.dismiss("s7_a")), [["s7"], ["s7"]])
    assert.deepStrictEqual(seen(assembly.dismiss("s9")), [["s9"], []])
  })

  it("reads only the servers that a change affects", () => {
    const names = Array.from({ length: 2000 }, (_, index) => `s${index}`)
    const assembly = Catalog.assembly({ configured: names })
    const sourceOf = (server: string, tool: string): Catalog.Source => ({
      server,
      listings: { ...Catalog.noListings, tools: [{ name: tool, inputSchema: {} }] },
      tools: {}
    })
    assembly.replace(new Map(names.map((name) => [name, sourceOf(name, "x")])))
    const { after, before } = assembly.replace(new Map([["s7", sourceOf("s7", "y")]]))
    assert.deepStrictEqual(
      [before, after].map(({ tools }) => tools.map(({ name }) => name)),
      [["s7_x"], ["s7_y"]]
    )
  })
})
