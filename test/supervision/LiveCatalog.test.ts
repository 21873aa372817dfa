import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as Catalog from "../../src/domain/catalog/Catalog.js"
import * as LiveCatalog from "../../src/supervision/catalog/LiveCatalog.js"

const listings = (...tools: ReadonlyArray<string>): Catalog.Listings => ({
  ...Catalog.noListings,
  tools: tools.map((name) => ({ name, inputSchema: { type: "object" } }))
})

const source = (server: string, ...tools: ReadonlyArray<string>): Catalog.Source => ({
  server,
  listings: listings(...tools),
  tools: {}
})

const makeBook = (rules: Partial<LiveCatalog.Rules> = {}) => {
  const world = {
    sources: [] as ReadonlyArray<Catalog.Source>,
    all: [] as ReadonlyArray<Catalog.Source>,
    changes: [] as Array<{ readonly revision: number; readonly changes: ReadonlyArray<Catalog.Change> }>
  }
  const book = LiveCatalog.make({
    source: (server) => world.sources.find((each) => each.server === server),
    allSources: () => world.all,
    onChange: (changes, revision) => world.changes.push({ changes, revision })
  })
  const configure = (next: Partial<LiveCatalog.Rules>) =>
    book.configure({ configured: ["a", "b"], tools: {}, agents: new Map(), ...next })
  configure(rules)
  const show = (...sources: ReadonlyArray<Catalog.Source>) => {
    world.sources = sources
    world.all = sources
    book.update(["a", "b"])
  }
  const names = ({ tools }: Catalog.Catalog) => tools.map(({ name }) => name)
  return { book, world, show, configure, names }
}

describe("LiveCatalog", () => {
  it("starts empty, with revision 0 and no event", () => {
    const { book, world } = makeBook()
    assert.deepStrictEqual(book.current.get(), Catalog.empty)
    assert.deepStrictEqual(world.changes, [])
  })

  it("merges the listings of servers in their order and publishes what was added", () => {
    const { book, names, show, world } = makeBook()
    show(source("a", "x"), source("b", "y"))
    assert.deepStrictEqual(names(book.current.get()), ["a_x", "b_y"])
    assert.strictEqual(book.current.get().revision, 1)
    assert.deepStrictEqual(world.changes, [
      {
        revision: 1,
        changes: [
          { server: "a", kind: "tools", added: ["a_x"], removed: [] },
          { server: "b", kind: "tools", added: ["b_y"], removed: [] }
        ]
      }
    ])
  })

  it("stays the same object and publishes nothing while nothing changes", () => {
    const { book, show, world } = makeBook()
    const a = source("a", "x")
    show(a)
    const before = book.current.get()
    show({ ...a })
    assert.strictEqual(book.current.get(), before)
    assert.lengthOf(world.changes, 1)
  })

  it("returns the same view of an agent until the revision changes", () => {
    const { book, names, show } = makeBook({ agents: new Map([["careful", { "a_*": false }]]) })
    show(source("a", "x"), source("b", "y"))
    const view = book.forAgent("careful")
    assert.deepStrictEqual(names(view), ["b_y"])
    assert.strictEqual(book.forAgent("careful"), view)
    assert.strictEqual(view.revision, book.current.get().revision)
    show(source("a", "x"), source("b", "y", "z"))
    assert.deepStrictEqual(names(book.forAgent("careful")), ["b_y", "b_z"])
  })

  it("returns the default view for an unknown agent", () => {
    const { book, show } = makeBook()
    show(source("a", "x"))
    assert.strictEqual(book.forAgent("who"), book.current.get())
    assert.strictEqual(book.forAgent(undefined), book.current.get())
  })

  it("publishes a change that only an agent's view has", () => {
    const { book, names, show } = makeBook({ tools: { "a_*": false }, agents: new Map([["bold", { "a_*": true }]]) })
    const b = source("b", "y")
    show(source("a", "x"), b)
    assert.deepStrictEqual(names(book.forAgent("bold")), ["a_x", "b_y"])
    show(source("a", "x", "new"), b)
    assert.deepStrictEqual(names(book.current.get()), ["b_y"])
    assert.deepStrictEqual(names(book.forAgent("bold")), ["a_x", "a_new", "b_y"])
  })

  it("applies new filters of an agent although the default view stays the same", () => {
    const { book, configure, names, show } = makeBook({ agents: new Map([["careful", { "a_*": false }]]) })
    show(source("a", "x"), source("b", "y"))
    assert.deepStrictEqual(names(book.forAgent("careful")), ["b_y"])
    configure({ agents: new Map([["careful", { "b_*": false }]]) })
    assert.deepStrictEqual(names(book.forAgent("careful")), ["a_x"])
  })

  it("publishes the tools that new filters hide", () => {
    const { book, configure, names, show, world } = makeBook()
    show(source("a", "x", "y"))
    configure({ tools: { a_x: false } })
    assert.deepStrictEqual(names(book.current.get()), ["a_y"])
    assert.deepStrictEqual(world.changes.at(-1), {
      revision: 2,
      changes: [{ server: "a", kind: "tools", added: [], removed: ["a_x"] }]
    })
  })

  it("keeps the last listing of servers that are not listed now", () => {
    const { book, names, show, world } = makeBook()
    show(source("a", "x"))
    world.sources = []
    book.update(["a", "b"])
    assert.deepStrictEqual(names(book.current.get()), [])
    assert.deepStrictEqual(names(book.lastKnown(undefined)), ["a_x"])
    assert.isTrue(Option.isSome(Catalog.get(book.lastKnown(undefined), "a_x")))
  })

  it("reports problems of names and patterns for each server", () => {
    const { book, show } = makeBook()
    show({ ...source("a", "x"), tools: { nothing: true } }, source("b", "y"))
    assert.deepStrictEqual(
      book.diagnosticsOf("a").map(({ code }) => code),
      ["pattern_without_match"]
    )
    assert.deepStrictEqual(book.diagnosticsOf("b"), [])
    show(source("a", "x"), source("b", "y"))
    assert.deepStrictEqual(book.diagnosticsOf("a"), [])
  })

  it("reads only the changed servers, and builds the catalog when it is read", () => {
    const asked: Array<string> = []
    const book = LiveCatalog.make({
      source: (server) => {
        asked.push(server)
        return source(server, "x")
      },
      allSources: () => [],
      onChange: () => {}
    })
    const configured = Array.from({ length: 100 }, (_, index) => `s${index}`)
    book.configure({ configured, tools: {}, agents: new Map() })
    const before = book.current.get()
    asked.length = 0
    book.update(["s3"])
    assert.deepStrictEqual(asked, ["s3"])
    assert.notStrictEqual(book.current.get(), before)
    assert.strictEqual(book.current.get(), book.current.get())
    assert.deepStrictEqual(asked, ["s3"])
  })

  it("reads only a server that is added or removed, and those whose tools it renames", () => {
    const asked: Array<string> = []
    const told: Array<string> = []
    const book = LiveCatalog.make({
      source: (server) => {
        asked.push(server)
        return server === "s3_x" ? undefined : source(server, "x_y")
      },
      allSources: () => [],
      onChange: (changes) => told.push(...changes.map(({ server }) => server))
    })
    const configured = Array.from({ length: 100 }, (_, index) => `s${index}`)
    book.configure({ configured, tools: {}, agents: new Map() })
    const before = book.current.get()
    asked.length = 0
    told.length = 0
    book.admit("new")
    book.admit("s3_x")
    assert.deepStrictEqual(asked, ["new", "s3_x"])
    assert.deepStrictEqual(told, ["new", "s3"])
    assert.strictEqual(book.current.get().tools.at(-1)?.name, "new_x_y")
    book.dismiss("s3_x")
    book.dismiss("new")
    assert.deepStrictEqual(asked, ["new", "s3_x"])
    assert.deepStrictEqual(told, ["new", "s3", "s3", "new"])
    assert.isTrue(Catalog.same(book.current.get(), before))
    assert.strictEqual(book.current.get().revision, before.revision + 4)
  })

  it("gives last listings their current public names", () => {
    const { book, names, show } = makeBook()
    show(source("a", "c_x"))
    assert.deepStrictEqual(names(book.lastKnown(undefined)), ["a_c_x"])
    book.admit("a_c")
    assert.match(names(book.lastKnown(undefined)).join(), /^a_c_x_[0-9a-v]{10}$/)
    book.dismiss("a_c")
    assert.deepStrictEqual(names(book.lastKnown(undefined)), ["a_c_x"])
  })
})
