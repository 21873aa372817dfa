import { assert, describe } from "@effect/vitest"
import { Chunk, Effect, Stream } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { acknowledge, asResult, isModern, type Kind, kinds, live, liveFor, modern, scripted } from "../support/kinds.js"
import { json, legacy, type Received, result, serve, status } from "../support/rawHttp.js"
import { connect, textOf } from "../support/session.js"

const { answer } = ScriptedServer

const object = { type: "object" }
const tool = (name: string) => ({ name, inputSchema: object })
const names = (items: ReadonlyArray<{ readonly name: string }>) => items.map(({ name }) => name)

/** A server whose list of tools the test sets, page by page. */
const listing = (kind: Kind, ...pages: ReadonlyArray<object>) =>
  Effect.flatMap(
    scripted(kind, {
      tools: [],
      rules: pages.map((page, index) => ({ on: "tools/list", nth: index + 1, do: [answer(page)] }))
    }),
    connect
  )

describe("an invalid entry of a list", () => {
  /** Entries whose valid ones contain a URL that must never be requested. */
  const entries = (trap: string) => {
    const inputSchema = {
      type: "object",
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { a: { $ref: `${trap}#/$defs/a` }, b: { type: "int" }, c: true },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
      "x-unknown": [null, { deep: { er: 1 } }]
    }
    const outputSchema = { type: "object", $ref: trap, required: ["n"] }
    const good = { name: "good", title: "Good", inputSchema, outputSchema, extra: { kept: [1] }, _meta: { m: 1 } }
    const last = { name: "last", description: "The last one", inputSchema: object }
    const given = [
      good,
      { name: "schemaless" },
      { name: "described", description: null, inputSchema: object },
      { name: "outputs", inputSchema: object, outputSchema: "a string" },
      { name: "annotated", inputSchema: object, annotations: { readOnlyHint: "yes", title: "kept" } },
      { name: "good", inputSchema: object },
      { name: "arrays", inputSchema: { type: "array" } },
      { description: "nameless", inputSchema: object },
      null,
      last
    ]
    const kept = [
      good,
      { name: "described", inputSchema: object },
      { name: "outputs", inputSchema: object },
      { name: "annotated", inputSchema: object, annotations: { title: "kept" } },
      last
    ]
    return { given, kept }
  }

  const isBad = (kind: Kind, page: (tools: ReadonlyArray<unknown>) => object) =>
    Effect.gen(function* () {
      const trap = yield* serve((_, response) => void json(response, { type: "string" }))
      const { given, kept } = entries(trap.url)
      const server = yield* scripted(kind, { tools: given, rules: [{ on: "tools/list", do: [answer(page(given))] }] })
      const session = yield* connect(server)
      const { diagnostics, items } = yield* session.listTools
      assert.deepStrictEqual(items, kept as never)
      assert.deepStrictEqual(
        diagnostics.map(({ code, path, subject }) => [code, subject, path]),
        [
          ["malformed_tool", "schemaless", ["inputSchema"]],
          ["malformed_detail", "outputs", ["outputSchema"]],
          ["malformed_detail", "annotated", ["annotations", "readOnlyHint"]],
          ["duplicate_tool", "good", ["name"]],
          ["malformed_tool", "arrays", ["inputSchema", "type"]],
          ["malformed_tool", undefined, ["name"]],
          ["malformed_tool", undefined, []]
        ]
      )
      for (const name of names(kept)) assert.strictEqual(textOf(yield* session.callTool(name, { a: 1 })), name)
      // a reference in a schema is never requested
      assert.deepStrictEqual(trap.received, [])
    })

  liveFor(kinds, "is omitted and reported with its path", (kind) =>
    isBad(kind, (tools) => asResult(kind, { tools, ...(isModern(kind) ? { ttlMs: 0, cacheScope: "private" } : {}) }))
  )

  liveFor(["modern over stdio", "modern over HTTP"], "is omitted also if the list has no other required keys", (kind) =>
    isBad(kind, (tools) => ({ tools }))
  )

  liveFor(kinds, "is omitted in the other lists, too", (kind) =>
    Effect.gen(function* () {
      const script = {
        resources: [{ uri: "a:1", name: "one" }, { uri: 2, name: "two" }, { uri: "a:3" }, { uri: "a:4", name: "four" }],
        resourceTemplates: [{ uriTemplate: "a:{b}", name: "one" }, { name: "two" }],
        prompts: [{ name: "one", arguments: [{ name: "x" }, {}] }, { name: null }, { name: "three" }]
      }
      const session = yield* connect(yield* scripted(kind, script))
      const resources = yield* session.listResources
      assert.deepStrictEqual(names(resources.items), ["one", "four"])
      assert.deepStrictEqual(
        resources.diagnostics.map(({ path }) => path),
        [["uri"], ["name"]]
      )
      const templates = yield* session.listResourceTemplates
      assert.deepStrictEqual([names(templates.items), templates.diagnostics.length], [["one"], 1])
      const prompts = yield* session.listPrompts
      assert.deepStrictEqual(prompts.items, [
        { name: "one", arguments: [{ name: "x" }] },
        { name: "three", arguments: [] }
      ])
      assert.lengthOf(prompts.diagnostics, 2)
    })
  )
})

describe("the time to live of a list", () => {
  const page = (rest: object) => ({ resultType: "complete", tools: [tool("a")], ...rest })

  liveFor(["modern over stdio", "modern over HTTP"], "is the one that the server gives", (kind) =>
    Effect.gen(function* () {
      const session = yield* listing(kind, page({ ttlMs: 5000, cacheScope: "private" }), page({ ttlMs: 0 }))
      assert.strictEqual((yield* session.listTools).ttl, 5000)
      assert.strictEqual((yield* session.listTools).ttl, 0)
    })
  )

  liveFor(["modern over stdio", "modern over HTTP"], "is the shortest time of its pages", (kind) =>
    Effect.gen(function* () {
      const session = yield* listing(
        kind,
        page({ ttlMs: 7000, nextCursor: "2" }),
        page({ ttlMs: 3000, nextCursor: "3" }),
        page({ ttlMs: 9000 })
      )
      assert.strictEqual((yield* session.listTools).ttl, 3000)
    })
  )

  liveFor(kinds, "is undefined if the server gives none", (kind) =>
    Effect.gen(function* () {
      const session = yield* listing(kind, asResult(kind, { tools: [tool("a")] }))
      const listed = yield* session.listTools
      assert.deepStrictEqual(names(listed.items), ["a"])
      assert.notProperty(listed, "ttl")
    })
  )
})

describe("pages", () => {
  liveFor(kinds, "continue after an empty cursor and end with null", (kind) =>
    Effect.gen(function* () {
      const pages = [
        { tools: [tool("a")], nextCursor: "" },
        { tools: [tool("b")], nextCursor: null }
      ].map((page) => asResult(kind, page))
      const rules = [
        { on: "tools/list", where: { cursor: "" }, do: [answer(pages[1])] },
        { on: "tools/list", do: [answer(pages[0])] }
      ]
      const session = yield* connect(yield* scripted(kind, { tools: [], rules }))
      const { diagnostics, items } = yield* session.listTools
      assert.deepStrictEqual(names(items), ["a", "b"])
      assert.deepStrictEqual(diagnostics, [])
    })
  )

  liveFor(kinds, "are all fetched", (kind) =>
    Effect.gen(function* () {
      const given = Array.from({ length: 101 }, (_, index) => `tool-${index}`)
      const session = yield* connect(yield* scripted(kind, { tools: given, pageSize: 50 }))
      assert.deepStrictEqual(names((yield* session.listTools).items), given)
    })
  )

  /** A server with endless pages. */
  const endless = (kind: Kind, entries: number) => {
    let pages = 0
    const own = (received: Received, response: Parameters<typeof json>[0]) => {
      if (received.message.method !== "tools/list") return false
      pages += 1
      const tools = Array.from({ length: entries }, (_, index) => tool(`tool-${pages}-${index}`))
      json(response, result(received, asResult(kind, { tools, nextCursor: `page ${pages}` })))
      return true
    }
    return Effect.map(serve(isModern(kind) ? modern(own) : legacy(own)), ({ url }) => ({ url, pages: () => pages }))
  }

  for (const kind of ["legacy over HTTP", "modern over HTTP"] as const) {
    for (const [limit, entries, [items, requested], named] of [
      ["a thousand", 1, [1000, 1000], "1000 pages"],
      ["a hundred thousand entries", 20_000, [100_000, 5], "100000 entries"]
    ] as const) {
      live(
        `without end are fetched up to ${limit} (${kind})`,
        Effect.gen(function* () {
          const { pages, url } = yield* endless(kind, entries)
          const session = yield* connect({ url, timeout: { list: 150_000 } })
          const listing = yield* session.listTools
          assert.deepStrictEqual([listing.items.length, pages()], [items, requested])
          assert.deepStrictEqual(
            listing.diagnostics.map(({ code }) => code),
            ["list_cut_short"]
          )
          assert.include(listing.diagnostics[0]!.message, named)
        })
      )
    }
  }

  liveFor(kinds, "that repeat end with a diagnostic", (kind) =>
    Effect.gen(function* () {
      const page = asResult(kind, { tools: [tool("a")], nextCursor: "same" })
      const session = yield* listing(kind, page, page, page, page)
      const { diagnostics, items } = yield* session.listTools
      assert.deepStrictEqual(names(items), ["a"])
      assert.include(
        diagnostics.map(({ code }) => code),
        "list_cut_short"
      )
    })
  )
})

describe("changes of a list in the modern era over HTTP", () => {
  live(
    "are subscribed again when the server closes the stream, and then reported",
    Effect.gen(function* () {
      let streams = 0
      const { url } = yield* serve(
        modern((received, response) => {
          if (received.message.method !== "subscriptions/listen") return false
          streams += 1
          const say = acknowledge(received, response)
          if (streams === 1) response.end()
          else say("notifications/tools/list_changed")
          return true
        })
      )
      const session = yield* connect({ url })
      const first = session.notifications.pipe(
        Stream.filter(({ _tag }) => _tag === "ListChanged"),
        Stream.take(1),
        Stream.runCollect
      )
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* first), [{ _tag: "ListChanged", list: "tools" }])
      assert.strictEqual(streams, 2)
      assert.strictEqual(yield* session.push, "open")
    })
  )

  live(
    "are subscribed again when the server rejects the first try",
    Effect.gen(function* () {
      let streams = 0
      const { url } = yield* serve(
        modern((received, response) => {
          if (received.message.method !== "subscriptions/listen") return false
          streams += 1
          if (streams === 1) status(response, 503)
          else acknowledge(received, response)("notifications/tools/list_changed")
          return true
        })
      )
      const session = yield* connect({ url })
      yield* session.notifications.pipe(
        Stream.filter(({ _tag }) => _tag === "ListChanged"),
        Stream.take(1),
        Stream.runDrain
      )
      assert.strictEqual(streams, 2)
    })
  )
})
