/** Limits of size and depth for everything that a server sends; a server that exceeds one affects only itself. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { McpAuth } from "../../../src/auth/McpAuth.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { assertTag } from "../../support/assertTag.js"
import { ask, type Asked, serve } from "../support/control.js"
import { deepHttp, deepStdio, kinds, isHttp, liveFor } from "../support/kinds.js"
import type { Seen, Task } from "../support/floodHost.js"
import { programWith } from "../support/program.js"
import { live as liveSession } from "../support/live.js"
import { connect } from "../support/session.js"
import { awaitSnapshot, awaitStatus, faultyServer, live, temporaryDirectory } from "../support/supervised.js"

const program = fileURLToPath(new URL("../support/oversizedServer.mjs", import.meta.url))

const oversized = (mode: string, count = 0) => ({
  command: process.execPath,
  args: [program, mode, String(count)],
  restart: { maxRestarts: 0, cooldown: "1 hour" }
})

const good = faultyServer()

/** A supervisor of real processes with its control API. */
const controlled = (servers: NonNullable<McpSupervisor.Options["servers"]>, options: McpSupervisor.Options = {}) =>
  Effect.gen(function* () {
    const stateDir = yield* temporaryDirectory
    const context = yield* Layer.build(McpSupervisor.layerNode({ ...options, servers, stateDir }))
    const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
    const services = Context.make(McpSupervisor.McpSupervisor, supervisor).pipe(
      Context.add(McpAuth, Context.get(context, McpAuth))
    )
    const server = yield* Effect.provide(serve({}), services)
    yield* supervisor.awaitSettled()
    return { supervisor, ask: (path: string, asked?: Asked) => ask(server, path, asked) }
  }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

const post = (body: unknown, headers = {}): Asked => ({ method: "POST", body, headers })

describe("nesting", () => {
  // 500 and 100,000 arrays within arrays, and what stands around them
  for (const levels of [500, 100_000]) {
    live(
      `of ${levels} levels in a list omits only the entry, and every route still answers`,
      Effect.gen(function* () {
        const { ask, supervisor } = yield* controlled({ good, bad: oversized("deep-schema", levels) })
        const { diagnostics, status, tools } = yield* supervisor.server("bad")
        assert.strictEqual(status.status, "connected")
        assert.strictEqual(tools, 7)
        const codes = diagnostics.map(({ code, subject }) => [code, subject])
        assert.deepInclude(codes, ["nested_too_deep", "nested"])
        assert.deepInclude(codes, ["nested_too_deep", "a:b"])
        for (const path of ["/tools", "/resources", "/prompts", "/servers", "/mcp"]) {
          assert.strictEqual((yield* ask(path)).status, 200, path)
        }
        const { json } = yield* ask("/tools")
        assert.include(JSON.stringify(json), "good_echo")
        assert.notInclude(JSON.stringify(json), "bad_nested")
      })
    )

    live(
      `of ${levels} levels in a result, a resource or a prompt is InvalidResult, also as a stream`,
      Effect.gen(function* () {
        const { ask } = yield* controlled({ bad: oversized("deep", levels) })
        const asked = [
          ["/tools/bad_call/call", {}],
          ["/resources/read", { server: "bad", uri: "a:b" }],
          ["/prompts/get", { server: "bad", name: "p" }]
        ] as const
        for (const [path, body] of asked) {
          const { json, status } = yield* ask(path, post(body))
          assert.strictEqual(status, 502, path)
          assert.strictEqual(json.error.tag, "InvalidResult", path)
          assert.include(json.error.message, "500 levels")
        }
        const { text } = yield* ask("/tools/bad_call/call", post({}, { accept: "text/event-stream" }))
        assert.include(text, "event: error")
        assert.include(text, "InvalidResult")
        assert.strictEqual((yield* ask("/tools/bad_fine/call", post({}))).status, 200)
      })
    )

    live(
      `of ${levels} levels in the initialize result is a typed failure of that server`,
      Effect.gen(function* () {
        const { ask, supervisor } = yield* controlled({ good, bad: oversized("deep-info", levels) })
        const status = yield* awaitStatus(supervisor, "bad", "failed")
        assert.strictEqual(status.errorTag, "IncompatibleServer")
        assert.include(status.error, "500 levels")
        assert.strictEqual((yield* ask("/tools/good_echo/call", post({ arguments: { value: "x" } }))).status, 200)
      })
    )

    live(
      `of ${levels} levels in a notification drops it with a diagnostic`,
      Effect.gen(function* () {
        const { ask, supervisor } = yield* controlled({ bad: oversized("deep", levels) })
        const stream = yield* ask("/tools/bad_progress/call", post({}, { accept: "text/event-stream" }))
        assert.notInclude(stream.text, "event: progress")
        assert.include(stream.text, "event: result")
        assert.strictEqual((yield* ask("/tools/bad_notify/call", post({}))).status, 200)
        yield* awaitSnapshot(supervisor, "bad", ({ diagnostics }) =>
          diagnostics.some(({ code }) => code === "notification_dropped")
        )
        assert.strictEqual((yield* ask("/servers")).status, 200)
      })
    )
  }

  live(
    "in a request of the server is answered with an error",
    Effect.gen(function* () {
      const onSample = () => Effect.die("it must not be asked")
      const { supervisor } = yield* controlled({ bad: oversized("deep", 600) }, { onSample })
      const result = yield* supervisor.callServerTool("bad", "ask", {}, { totalTimeout: "10 seconds" })
      assert.include(JSON.stringify(result), "code")
    })
  )

  liveFor(kinds, "of a result is InvalidResult over every transport", (kind) =>
    Effect.gen(function* () {
      const session = yield* connect(isHttp(kind) ? yield* deepHttp(kind) : deepStdio(kind))
      for (const tool of ["structured", "whole"]) {
        assertTag(yield* Effect.flip(session.callTool(tool)), "InvalidResult")
      }
      yield* session.callTool("any")
    })
  )
})

describe("the size of a listing", () => {
  live(
    "above listBudget fails the server with the limit and the key, without reading more",
    Effect.gen(function* () {
      const bad = { ...oversized("pages", 1000), listBudget: 4 * 1024 * 1024 }
      const { ask, supervisor } = yield* controlled({ good, bad })
      const status = yield* awaitStatus(supervisor, "bad", "failed")
      assert.strictEqual(status.errorTag, "IncompatibleServer")
      assert.include(status.error, "listBudget")
      assert.include(status.error, "4194304")
      assert.strictEqual((yield* ask("/tools/good_echo/call", post({ arguments: { value: "x" } }))).status, 200)
    })
  )

  live(
    "is the sum of all pages and kinds",
    Effect.gen(function* () {
      const megabytes = (count: number) => count * 1024 * 1024
      const { supervisor } = yield* controlled({
        // three pages of tools and three of resources
        over: { ...oversized("pages", 3), listBudget: megabytes(5) },
        within: { ...oversized("pages", 3), listBudget: megabytes(7) }
      })
      assert.strictEqual((yield* awaitStatus(supervisor, "over", "failed")).errorTag, "IncompatibleServer")
      const { resources, status, tools } = yield* supervisor.server("within")
      assert.deepStrictEqual([status.status, tools, resources], ["connected", 3, 3])
    })
  )

  live(
    "above listBudget at a refresh keeps the last valid list, with a diagnostic",
    Effect.gen(function* () {
      const { supervisor } = yield* controlled({ bad: { ...oversized("grow", 8), listBudget: 2 * 1024 * 1024 } })
      yield* supervisor.callServerTool("bad", "grow")
      const { diagnostics, status, tools } = yield* awaitSnapshot(supervisor, "bad", (snapshot) =>
        snapshot.diagnostics.some(({ code }) => code === "list_failed")
      )
      assert.strictEqual(status.status, "connected")
      assert.strictEqual(tools, 7)
      assert.include(diagnostics.map(({ message }) => message).join(), "listBudget")
      yield* supervisor.callServerTool("bad", "fine")
    })
  )

  live(
    "is limited also by the number of values, which take time to parse",
    Effect.gen(function* () {
      // 12 MB of empty arrays: parsing them would take seconds
      const { ask, supervisor } = yield* controlled({ good, bad: oversized("values", 4_000_000) })
      const status = yield* awaitStatus(supervisor, "bad", "failed")
      assert.include(status.error, "1000000 values and keys")
      assert.strictEqual((yield* ask("/health")).status, 200)
    })
  )

  live(
    "includes the memory of its values, so that a small heap is enough",
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      // 23 pages of 450,000 empty arrays: 31 MB of text, and 600 MB when all of them are kept
      const task: Task = {
        stateDir: join(directory, "state"),
        good,
        floods: { bad: oversized("value-pages", 23), objects: oversized("object-pages", 40) },
        during: 2000
      }
      const file = join(directory, "task.json")
      writeFileSync(file, JSON.stringify(task))
      const host = yield* programWith(["--max-old-space-size=500"], "./floodHost.ts", file)
      const seen = JSON.parse(yield* host.line((line) => line.startsWith("{"))) as Seen
      for (const name of ["bad", "objects"]) assert.match(seen.statuses[name] ?? "", /failed: .*listBudget/)
      assert.isBelow(seen.memory, 300)
      assert.strictEqual(seen.flooded.failed, 0)
    })
  )
})

describe("an initialize result", () => {
  liveSession(
    "with long instructions is cut, with a log line",
    Effect.gen(function* () {
      const logs: Array<string> = []
      const { args, command } = oversized("long-instructions", 20_000_000)
      const session = yield* connect({ command, args }, { onLog: ({ text }) => void logs.push(text) })
      assert.strictEqual(session.info.instructions?.length, 65_536)
      assert.match(logs.join(), /instructions of the server were cut: of 20000000 characters, 65536 are kept/)
      yield* session.callTool("fine")
    })
  )

  live(
    "with another part that is too long is a typed failure of that server",
    Effect.gen(function* () {
      const { supervisor } = yield* controlled({ good, bad: oversized("long-info", 10_000_000) })
      const status = yield* awaitStatus(supervisor, "bad", "failed")
      assert.strictEqual(status.errorTag, "IncompatibleServer")
      assert.include(status.error, "262144 characters")
      assert.isBelow(JSON.stringify(yield* supervisor.server("bad")).length, 10_000)
    })
  )
})

describe("a message that answers no request", () => {
  liveSession(
    "is dropped if it is long, with a log line; a request is answered with an error",
    Effect.gen(function* () {
      const logs: Array<string> = []
      const { args, command } = oversized("long", 9_000_000)
      const sample = () => Effect.die("it must not be asked")
      const session = yield* connect(
        { command, args },
        { handlers: { sample }, onLog: ({ text }) => void logs.push(text) }
      )
      assert.include(JSON.stringify(yield* session.callTool("ask")), "code")
      yield* session.callTool("notify")
      assert.match(logs.join(), /dropped.*sampling\/createMessage/)
      assert.match(logs.join(), /dropped.*notifications\/resources\/updated/)
    })
  )

  liveSession(
    "is read if it is as long as a request with an image",
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { args, command } = oversized("long", 6_700_000)
      const sample = (params: unknown) => {
        asked.push(JSON.stringify(params).length)
        return Effect.succeed({
          role: "assistant" as const,
          content: { type: "text" as const, text: "ok" },
          model: "m"
        })
      }
      const session = yield* connect({ command, args }, { handlers: { sample } })
      assert.include(JSON.stringify(yield* session.callTool("ask")), "ok")
      assert.isAbove(asked[0] ?? 0, 6_700_000)
    })
  )

  liveSession(
    "has a limit that does not apply to responses",
    Effect.gen(function* () {
      const { args, command } = oversized("long", 30_000_000)
      const session = yield* connect({ command, args })
      assert.isAbove(JSON.stringify(yield* session.callTool("call")).length, 30_000_000)
    })
  )
})
