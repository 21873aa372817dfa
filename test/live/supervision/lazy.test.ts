import { randomUUID } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { eventually, groupOf, processesWith, textOf } from "../support/session.js"
import {
  awaitSnapshot,
  awaitStatus,
  changesUntil,
  faultyServer,
  linesUntil,
  live,
  namesOf,
  pidOf,
  supervise,
  superviseSettled,
  temporaryDirectory
} from "../support/supervised.js"

const catalogFiles = (stateDir: string) => {
  try {
    return readdirSync(join(stateDir, "catalog")).map((name) => join(stateDir, "catalog", name))
  } catch {
    return []
  }
}

/** Lets a first supervisor fill the state directory. */
const remember = (stateDir: string, server: Parameters<typeof superviseSettled>[0][string]) =>
  Effect.gen(function* () {
    yield* superviseSettled({ it: server }, { stateDir })
    yield* eventually(() => catalogFiles(stateDir).some((name) => name.endsWith(".json")))
  }).pipe(Effect.scoped)

describe.concurrent("a lazy server", () => {
  live(
    "is listed without a process, and started once for concurrent first calls",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const mark = `lazy-${randomUUID()}`
      const server = faultyServer(mark)
      yield* remember(stateDir, server)
      assert.deepStrictEqual(processesWith(mark), [])
      const supervisor = yield* superviseSettled({ it: { ...server, lazy: true } }, { stateDir })
      assert.strictEqual((yield* supervisor.server("it")).status.status, "idle")
      const { tools } = yield* supervisor.catalog
      assert.include(
        tools.map(({ name }) => name),
        "it_pid"
      )
      assert.deepStrictEqual(processesWith(mark), [])
      const results = yield* Effect.forEach(Array.from({ length: 5 }), () => supervisor.callTool("it_pid"), {
        concurrency: 5
      })
      assert.strictEqual(new Set(results.map(textOf)).size, 1)
      assert.lengthOf(processesWith(mark), 1)
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
      // its listing equals the cached one, so no change is published
      assert.strictEqual((yield* supervisor.catalog).tools, tools)
    })
  )

  live(
    "without known lists is started by a call with its prefix",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: { ...faultyServer(), lazy: true } })
      assert.deepStrictEqual((yield* supervisor.catalog).tools, [])
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo", { value: "hello" })), "hello")
      assert.isNotEmpty((yield* supervisor.catalog).tools)
    })
  )

  live(
    "is stopped when it is idle, but not during a call",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: {
          ...ScriptedServer.stdio({
            tools: ["slow", "echo"],
            rules: [
              {
                on: "tools/call",
                where: { name: "slow" },
                do: [ScriptedServer.stderr("began\n"), ScriptedServer.sleep(1000), ScriptedServer.answer()]
              }
            ]
          }),
          lazy: true,
          idleStop: 200
        }
      })
      const call = yield* Effect.fork(supervisor.callServerTool("it", "slow"))
      yield* linesUntil(supervisor, "it", (line) => line === "began")
      const pid = yield* pidOf(supervisor, "it")
      assert.strictEqual(textOf(yield* Fiber.join(call)), "slow")
      const changes = yield* changesUntil(supervisor, "it", (to) => to.status === "idle")
      assert.deepStrictEqual(namesOf(changes), ["connecting", "connected", "idle"])
      yield* eventually(() => groupOf(pid).length === 0)
      // its tools stay listed, and the next call starts it again
      assert.lengthOf((yield* supervisor.catalog).tools, 2)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "echo")
      assert.deepInclude(yield* supervisor.server("it"), { generation: 2, restarts: 0 })
    })
  )

  live(
    "that died is started by the next call",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: { ...faultyServer(), lazy: true } })
      const before = textOf(yield* supervisor.callServerTool("it", "pid"))
      process.kill(Number(before), "SIGKILL")
      yield* awaitSnapshot(supervisor, "it", ({ pid }) => pid !== Number(before))
      assert.notStrictEqual(textOf(yield* supervisor.callTool("it_pid")), before)
    })
  )

  for (const [what, content] of [
    ["garbage", "\0\u{1F4A9}{ no json"],
    ["of another shape", JSON.stringify({ version: 1, savedAt: 1, listings: { tools: "all" } })],
    ["empty", ""]
  ] as const) {
    live(
      `treats a cache that is ${what} as missing`,
      Effect.gen(function* () {
        const stateDir = yield* temporaryDirectory
        const server = faultyServer()
        yield* remember(stateDir, server)
        for (const file of catalogFiles(stateDir)) writeFileSync(file, content)
        const supervisor = yield* superviseSettled({ it: { ...server, lazy: true } }, { stateDir })
        assert.deepStrictEqual((yield* supervisor.catalog).tools, [])
        assert.strictEqual(textOf(yield* supervisor.callTool("it_echo", { value: "hello" })), "hello")
      })
    )
  }

  live(
    "with another config does not use the cache of the old one",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      yield* remember(stateDir, faultyServer())
      const supervisor = yield* supervise({ stateDir, servers: { it: { ...faultyServer("other"), lazy: true } } })
      assert.deepStrictEqual((yield* supervisor.catalog).tools, [])
      yield* awaitStatus(supervisor, "it", "idle")
    })
  )
})
