import type { ServerResponse } from "node:http"
import { assert, describe } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import * as Raw from "../support/rawHttp.js"
import { eventually, textOf } from "../support/session.js"
import {
  awaitSnapshot,
  countOf,
  eventsUntil,
  linesUntil,
  live,
  serveAt,
  type Supervisor,
  superviseSettled
} from "../support/supervised.js"

const { answer, error, notify, stderr } = ScriptedServer

const listChanged = { jsonrpc: "2.0", method: "notifications/tools/list_changed" }

const named = (name: string) => ({ name, inputSchema: { type: "object" } })

/** A server with its own stream, whose list of tools a test changes. */
const changing = (own: (received: Raw.Received, response: ServerResponse) => boolean = () => false) =>
  Effect.gen(function* () {
    const tools: Array<object> = [named("first")]
    const streams = new Set<ServerResponse>()
    const good = Raw.legacy((received, response) => {
      if (own(received, response)) return true
      if (received.method === "GET") {
        Raw.stream(response)
        response.flushHeaders()
        streams.add(response)
        return true
      }
      switch (received.message.method) {
        case "initialize": {
          const serverInfo = { name: "changing", version: "1.0.0" }
          const capabilities = { tools: { listChanged: true } }
          Raw.json(response, Raw.result(received, { protocolVersion: "2025-11-25", capabilities, serverInfo }), 200, {
            "mcp-session-id": "one"
          })
          return true
        }
        case "tools/list":
          Raw.json(response, Raw.result(received, { tools }))
          return true
        default:
          return false
      }
    })
    const server = yield* serveAt(0, good)
    return {
      ...server,
      tools,
      /** Sends this many notifications about the changed list. */
      say: (times: number) =>
        Effect.zipRight(
          eventually(() => streams.size > 0),
          Effect.sync(() => {
            for (const stream of streams) stream.write(Raw.event(listChanged).repeat(times))
          })
        )
    }
  })

/** The names of tools, once there are enough. */
const toolsWhen = (supervisor: Supervisor, count: number) =>
  supervisor.catalogChanges.pipe(
    Stream.filter(({ tools }) => tools.length === count),
    Stream.runHead,
    Effect.map((catalog) => Option.getOrThrow(catalog).tools.map(({ name }) => name)),
    Effect.timeout("50 seconds")
  )

describe.concurrent("the list of tools", () => {
  live(
    "is fetched at most twice for 200 notifications, and an added tool can be called",
    Effect.gen(function* () {
      const server = yield* changing()
      const supervisor = yield* superviseSettled({ it: { url: server.url } })
      assert.strictEqual(countOf(server.received, "tools/list"), 1)
      const { revision } = yield* supervisor.catalog
      server.tools.push(named("second"))
      yield* server.say(200)
      assert.deepStrictEqual(yield* toolsWhen(supervisor, 2), ["it_first", "it_second"])
      assert.strictEqual(textOf(yield* supervisor.callTool("it_second")), "called")
      assert.isAbove((yield* supervisor.catalog).revision, revision)
      // a later notification is handled later: by then all 200 have been handled
      const soFar = countOf(server.received, "tools/list")
      server.tools.shift()
      yield* server.say(1)
      assert.deepStrictEqual(yield* toolsWhen(supervisor, 1), ["it_second"])
      assert.isAtMost(soFar, 3)
      assert.isAtMost(countOf(server.received, "tools/list"), 4)
      const gone = yield* Effect.flip(supervisor.callTool("it_first"))
      assert.strictEqual(gone._tag, "ToolNotFound")
      const events = yield* eventsUntil(
        supervisor,
        (event) => event.type === "CatalogChanged" && event.removed.length > 0
      )
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "CatalogChanged" ? [[event.added, event.removed]] : [])),
        [
          [["it_first"], []],
          [["it_second"], []],
          [[], ["it_first"]]
        ]
      )
    })
  )

  live(
    "is fetched once more for notifications that arrive while it is fetched",
    Effect.gen(function* () {
      let held: (() => void) | undefined
      let isHolding = false
      const server = yield* changing((received, response) => {
        if (received.message.method !== "tools/list" || !isHolding) return false
        isHolding = false
        const tools = server.tools.slice()
        held = () => Raw.json(response, Raw.result(received, { tools }))
        return true
      })
      const supervisor = yield* superviseSettled({ it: { url: server.url } })
      isHolding = true
      yield* server.say(1)
      yield* eventually(() => held !== undefined)
      server.tools.push(named("second"))
      yield* server.say(50)
      yield* supervisor.callTool("it_first")
      held!()
      assert.deepStrictEqual(yield* toolsWhen(supervisor, 2), ["it_first", "it_second"])
      assert.strictEqual(countOf(server.received, "tools/list"), 3)
    })
  )

  live(
    "also changes over stdio",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: ["grow", "more"],
          rules: [
            { on: "tools/list", nth: 1, do: [answer({ tools: [named("grow")] })] },
            { on: "tools/call", where: { name: "grow" }, do: [notify("notifications/tools/list_changed"), answer()] }
          ]
        })
      })
      yield* supervisor.callTool("it_grow")
      assert.deepStrictEqual(yield* toolsWhen(supervisor, 2), ["it_grow", "it_more"])
      assert.strictEqual(textOf(yield* supervisor.callTool("it_more")), "more")
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
    })
  )

  live(
    "stays unchanged if it cannot be fetched, and is fetched again",
    Effect.gen(function* () {
      let failing = 0
      const server = yield* changing((received, response) => {
        if (received.message.method !== "tools/list" || failing === 0) return false
        failing -= 1
        Raw.json(response, Raw.failure(received, -32603, "database is locked"))
        return true
      })
      const supervisor = yield* superviseSettled({ it: { url: server.url } })
      failing = 1
      server.tools.push(named("second"))
      yield* server.say(1)
      const { diagnostics, status } = yield* awaitSnapshot(supervisor, "it", (it) => it.diagnostics.length > 0)
      assert.strictEqual(status.status, "connected")
      assert.deepStrictEqual(
        diagnostics.map(({ code }) => code),
        ["list_failed"]
      )
      assert.strictEqual(textOf(yield* supervisor.callTool("it_first")), "called")
      assert.deepStrictEqual(yield* toolsWhen(supervisor, 2), ["it_first", "it_second"])
      yield* awaitSnapshot(supervisor, "it", (it) => it.diagnostics.length === 0)
      const events = yield* eventsUntil(
        supervisor,
        (event) => event.type === "CatalogChanged" && event.added.includes("it_second")
      )
      assert.isTrue(events.every((event) => event.type !== "CatalogChanged" || event.removed.length === 0))
    })
  )

  live(
    "is fetched again before the server is connected if the first fetch failed",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: ["echo"],
          rules: [{ on: "tools/list", nth: 1, do: [stderr("stumbled\n"), error(-32603, "not yet")] }]
        })
      })
      yield* linesUntil(supervisor, "it", (line) => line === "stumbled")
      assert.deepInclude(yield* supervisor.server("it"), { generation: 1, tools: 1, restarts: 0 })
    })
  )

  live(
    "omits invalid entries with a diagnostic of name and path, and keeps the others",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: [
            "good",
            { name: "without-schema" },
            { name: "wrong-type", inputSchema: { type: "array" } },
            "good",
            { name: "bad-output", inputSchema: { type: "object" }, outputSchema: 7 },
            "last"
          ]
        })
      })
      const { tools } = yield* supervisor.catalog
      const names = tools.map(({ rawName }) => rawName)
      assert.includeMembers(names, ["good", "bad-output", "last"])
      assert.notInclude(names, "without-schema")
      assert.strictEqual(new Set(names).size, names.length)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_last")), "last")
      const { diagnostics } = yield* supervisor.server("it")
      const about = (name: string) => diagnostics.filter((each) => JSON.stringify(each).includes(name))
      assert.isNotEmpty(about("without-schema"))
      assert.include(about("without-schema")[0]!.message, "inputSchema")
      assert.isNotEmpty(about("bad-output"))
    })
  )

  live(
    "has all pages, and ends if they repeat",
    Effect.gen(function* () {
      const many = Array.from({ length: 101 }, (_, index) => `tool${index}`)
      const supervisor = yield* superviseSettled({
        paged: ScriptedServer.stdio({
          tools: many,
          resources: ["a:1", "a:2", "a:3"],
          prompts: ["p", "q"],
          pageSize: 50
        }),
        circling: ScriptedServer.stdio({
          tools: ["one"],
          rules: [{ on: "tools/list", do: [answer({ tools: [named("one")], nextCursor: "again" })] }]
        })
      })
      assert.deepInclude(yield* supervisor.server("paged"), { tools: 101, resources: 3, prompts: 2 })
      assert.strictEqual(textOf(yield* supervisor.callTool("paged_tool100")), "tool100")
      const circling = yield* supervisor.server("circling")
      assert.strictEqual(circling.status.status, "connected")
      assert.strictEqual(circling.tools, 1)
      assert.isNotEmpty(circling.diagnostics)
    })
  )

  live(
    "hides filtered tools, for all or for one agent, and rejects calls to them",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled(
        { it: { ...ScriptedServer.stdio({ tools: ["read", "write", "drop"] }), tools: { drop: false } } },
        { agents: { reader: { tools: { it_write: false } } } }
      )
      const namesOf = (catalog: { readonly tools: ReadonlyArray<{ readonly name: string }> }) =>
        catalog.tools.map(({ name }) => name)
      assert.deepStrictEqual(namesOf(yield* supervisor.catalog), ["it_read", "it_write"])
      assert.deepStrictEqual(namesOf(yield* supervisor.catalogFor("reader")), ["it_read"])
      const errors = yield* Effect.all([
        Effect.flip(supervisor.callTool("it_drop")),
        Effect.flip(supervisor.callServerTool("it", "drop")),
        Effect.flip(supervisor.callTool("it_write", {}, { agent: "reader" }))
      ])
      assert.deepStrictEqual(
        errors.map(({ _tag }) => _tag),
        ["ToolNotFound", "ToolNotFound", "ToolNotFound"]
      )
      assert.strictEqual(textOf(yield* supervisor.callTool("it_write")), "write")
    })
  )
})
