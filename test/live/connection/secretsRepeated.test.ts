/** A server that repeats its own secrets: in its server info, in names, in descriptions, in its output. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Option, Stream } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { CatalogStore } from "../../../src/supervision/catalog/CatalogStore.js"
import * as FileCatalogStore from "../../../src/supervision/catalog/FileCatalogStore.js"
import { places } from "../support/cli.js"
import { configOf, connect } from "../support/session.js"
import { awaitStatus, live, supervise, temporaryDirectory } from "../support/supervised.js"

const canary = "CANARY-7Hq2-secret"

/** It puts the variable KEY into every text that a server can send. */
const program = `
const key = process.env.KEY
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n")
process.stderr.write("plain " + key + "\\n")
process.stderr.write("ansi " + key.slice(0, 6) + "\\u001b[31m" + key.slice(6) + "\\u001b[0m\\n")
process.stderr.write("invisible " + key.slice(0, 6) + "\\u200b" + key.slice(6) + "\\n")
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const object = { type: "object" }
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, experimental: { [key]: { value: key } } },
      serverInfo: { name: "seen " + key, version: key },
      instructions: "use " + key
    }),
    "tools/list": () => ({
      tools: [
        { name: "named_" + key, inputSchema: object },
        { name: "described", description: "for " + key, inputSchema: object },
        { name: "typed", inputSchema: { ...object, properties: { a: { const: key } } } },
        { name: "plain", description: "nothing", inputSchema: { ...object, properties: { a: { type: "string" } } } }
      ]
    }),
    "tools/call": () => ({ content: [] })
  }
  send({ id, result: (results[method] ?? (() => ({})))() })
})`

const server = { command: process.execPath, args: ["-e", program], environment: { KEY: canary } }

/** Removes characters that a terminal does not show. */
// oxlint-disable-next-line no-control-regex
const visible = (text: string) => text.replace(/\u001b\[[\d;]*m|\u200b/g, "")

describe("a secret that its server repeats", () => {
  it.scopedLive("is not in the server info of a session", () =>
    Effect.gen(function* () {
      const session = yield* connect(server)
      const { capabilities, instructions, serverInfo } = session.info
      assert.notInclude(JSON.stringify({ capabilities, instructions, serverInfo }), canary)
      assert.include(serverInfo?.name, "seen ")
    }).pipe(Effect.provide(Connector.layer()))
  )

  live(
    "is not in events, and the tools can be called",
    Effect.gen(function* () {
      const supervisor = yield* supervise({ servers: { it: server } })
      yield* awaitStatus(supervisor, "it", "connected")
      yield* supervisor.callServerTool("it", `named_${canary}`)
      yield* supervisor.remove("it").pipe(Effect.ignore)
      yield* supervisor.reconcile({ servers: {} })
      const events = yield* supervisor.eventsFrom(1).pipe(
        Stream.takeUntil(({ type }) => type === "ServerRemoved"),
        Stream.runCollect
      )
      const types = Chunk.toReadonlyArray(events).map(({ type }) => type)
      for (const type of ["CatalogChanged", "CallSettled", "ServerRemoved"]) assert.include(types, type)
      assert.notInclude(JSON.stringify(Chunk.toReadonlyArray(events)), canary)
    })
  )

  live(
    "is not in the logs, also with colours or invisible characters in it",
    Effect.gen(function* () {
      const supervisor = yield* supervise({ servers: { it: server } })
      const lines = yield* supervisor.logs("it").pipe(
        Stream.takeUntil(({ text }) => text.startsWith("invisible")),
        Stream.runCollect
      )
      assert.strictEqual(lines.length, 3)
      for (const { text } of lines) assert.notInclude(visible(text), canary)
    })
  )

  live(
    "is not in the catalog on disk, which contains all entries without it",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const config = configOf(server)
      const directory = join(stateDir, "catalog")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const supervisor = yield* supervise({ stateDir, servers: { it: server } })
          yield* awaitStatus(supervisor, "it", "connected")
          const isSaved = () => existsSync(directory) && readdirSync(directory).some((name) => name.endsWith(".json"))
          yield* Effect.repeat(Effect.sleep("10 millis"), { until: isSaved })
        })
      )
      for (const name of readdirSync(directory)) {
        assert.notInclude(readFileSync(join(directory, name), "utf8"), canary)
      }
      const store = yield* CatalogStore.pipe(Effect.provide(FileCatalogStore.layer(stateDir)))
      const { listings } = Option.getOrThrow(yield* store.load("it", config))
      assert.deepStrictEqual(
        listings.tools.map(({ inputSchema, name }) => [name, inputSchema]),
        [
          ["described", { type: "object" }],
          ["typed", { type: "object" }],
          ["plain", { type: "object", properties: { a: { type: "string" } } }]
        ]
      )
    })
  )
})

describe("the program", () => {
  const newPlace = places()

  it("shows no secret in `test`, `debug` and `status`", async () => {
    const here = await newPlace()
    here.configure({ it: server })
    for (const command of ["test", "debug", "status"]) {
      const { stderr, stdout } = await here.run([command, "it"])
      assert.notInclude(visible(`${stdout}${stderr}`), canary, command)
    }
    assert.include((await here.run(["test", "it"])).stdout, "seen ")
  })
})
