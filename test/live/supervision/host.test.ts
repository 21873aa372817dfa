import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { assert, describe } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { bundle } from "../support/bundle.js"
import { eventually, faulty, groupOf, processesWith } from "../support/session.js"
import { faultyServer, live, supervise, temporaryDirectory } from "../support/supervised.js"
import type { Task } from "../support/supervisorHost.js"

interface Host {
  readonly child: ChildProcess
  /** The next line of output. Fails at the end of the output. */
  readonly line: Effect.Effect<Record<string, unknown>>
  readonly exit: Effect.Effect<number | string | null>
}

/** A host in a separate process, which an unhandled rejection ends. The scope ends it with all its processes. */
const start = (stateDir: string, task: Task): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.gen(function* () {
    const file = join(yield* temporaryDirectory, "task.json")
    writeFileSync(file, JSON.stringify(task))
    const program = yield* Effect.promise(() => bundle("./supervisorHost.ts"))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--unhandled-rejections=strict", program, stateDir, file], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) => Effect.sync(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"))
    )
    const exited = new Promise<number | string | null>((resolve) =>
      child.once("exit", (code, signal) => resolve(signal ?? code))
    )
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    return {
      child,
      line: Effect.promise(async () => JSON.parse((await lines.next()).value)).pipe(
        Effect.timeoutFail({ duration: "1 minute", onTimeout: () => "the host says nothing" }),
        Effect.orDie
      ),
      exit: Effect.promise(() => exited).pipe(
        Effect.timeoutFail({ duration: "50 seconds", onTimeout: () => "the host does not end" }),
        Effect.orDie
      )
    }
  })

const sh = (...args: ReadonlyArray<string>) => ({
  command: "sh",
  args: ["-c", `"${process.execPath}" "${faulty}" ${args.join(" ")}; exit $?`]
})

/** Ends leftovers of a failed test at the end of the scope. */
const endAtLast = (found: () => ReadonlyArray<number>) =>
  Effect.addFinalizer(() => Effect.sync(() => found().forEach((pid) => process.kill(pid, "SIGKILL"))))

const endable = (mark: string): Task => ({
  servers: {
    good: faultyServer(mark),
    wrapped: sh("ignore-eof", "ignore-term", "stubborn-grandchild", mark),
    stubborn: faultyServer("ignore-eof", "ignore-term", mark),
    hanging: sh("hang", "ignore-eof", "ignore-term", mark)
  },
  settled: ["good", "wrapped", "stubborn"]
})

/** A host whose servers are all connected, and all their processes. */
const running = (stateDir: string, mark: string) =>
  Effect.gen(function* () {
    const host = yield* start(stateDir, endable(mark))
    const pids = yield* host.line
    const leaders = Object.values(pids).map(Number)
    yield* eventually(() => leaders.flatMap(groupOf).length === 5 && processesWith(mark).length >= 6)
    const left = () =>
      [...new Set([...leaders.flatMap(groupOf), ...processesWith(mark)])].filter((pid) => pid !== host.child.pid)
    yield* endAtLast(left)
    return { host, left }
  })

describe.concurrent("a host that is killed", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129]
  ] as const) {
    live(
      `by ${signal} leaves no process, also of servers that ignore signals, run in a shell or still connect`,
      Effect.gen(function* () {
        const { host, left } = yield* running(yield* temporaryDirectory, `host-${randomUUID()}`)
        host.child.kill(signal)
        assert.strictEqual(yield* host.exit, code)
        assert.deepStrictEqual(left(), [])
      })
    )
  }

  live(
    "by SIGKILL is cleaned up after by the next supervisor with the same state directory",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const { host, left } = yield* running(stateDir, `host-${randomUUID()}`)
      host.child.kill("SIGKILL")
      assert.strictEqual(yield* host.exit, "SIGKILL")
      assert.isNotEmpty(left())
      yield* supervise({ stateDir })
      yield* eventually(() => left().length === 0)
    })
  )
})

describe.concurrent("a host whose servers are broken", () => {
  const { exit, kill, write } = ScriptedServer
  const onCall = (...steps: ReadonlyArray<ScriptedServer.StdioStep>) => ({
    ...ScriptedServer.stdio({ tools: ["it"], rules: [{ on: "tools/call", do: steps }] }),
    restart: { base: 10, cap: 20, maxRestarts: 3 }
  })
  const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 256)

  live(
    "keeps running, and every call settles",
    Effect.gen(function* () {
      const resetting = yield* ScriptedServer.http({
        tools: ["it"],
        rules: [
          { on: "tools/call", nth: 1, do: [ScriptedServer.reset] },
          {
            on: "tools/call",
            do: [ScriptedServer.head({ sse: true }), write('data: {"jsonrpc":"2.0","id":'), ScriptedServer.reset]
          }
        ]
      })
      const babbling = yield* ScriptedServer.http({
        tools: ["it"],
        rules: [
          {
            on: "tools/call",
            nth: 1,
            do: [
              ScriptedServer.head({ headers: { "content-type": "application/json" } }),
              write(bytes),
              ScriptedServer.close
            ]
          },
          { on: "tools/call", do: [ScriptedServer.head({ sse: true }), write("data: {{{\n\n"), ScriptedServer.close] }
        ]
      })
      const broken: Task["servers"] = {
        "at-once": { ...faultyServer("exit-at-start"), restart: { base: 10, cap: 20, maxRestarts: 3 } },
        "before-reading": { command: "true", restart: { base: 10, cap: 20, maxRestarts: 3 } },
        "half-a-message": onCall(write('{"jsonrpc":"2.0","id":'), exit(1)),
        killed: onCall(kill("SIGKILL")),
        "long-line": onCall(write("x", { times: 11 * 1024 * 1024 }), write("\n")),
        "long-answer": onCall(
          ScriptedServer.answer({ content: [{ type: "text", text: ScriptedServer.filler(11 * 1024 * 1024) }] })
        ),
        endless: onCall(write("x", { times: 80 * 1024 * 1024 }), exit(1)),
        garbage: onCall(write(bytes), exit(1)),
        deaf: { ...faultyServer(), restart: { base: 10, cap: 20, maxRestarts: 3 } },
        resetting: { url: resetting.url },
        babbling: { url: babbling.url }
      }
      const calls = Object.keys(broken).flatMap((name): NonNullable<Task["calls"]> => {
        if (name !== "deaf") return Array.from({ length: 3 }, () => [name, "it"])
        return [
          [name, "close-input"],
          [name, "echo", { value: "x".repeat(1024 * 1024) }],
          [name, "echo"]
        ]
      })
      const host = yield* start(yield* temporaryDirectory, {
        servers: { ...broken, good: ScriptedServer.stdio({ tools: ["it"] }) },
        settled: ["good"],
        calls: [...calls, ["good", "it"]]
      })
      yield* host.line
      const outcomes = (yield* host.line) as unknown as ReadonlyArray<string>
      assert.lengthOf(outcomes, calls.length + 1)
      assert.strictEqual(outcomes.at(-1), "ok")
      const statuses = yield* host.line
      assert.strictEqual(statuses.good, "connected")
      assert.strictEqual(statuses.resetting, "connected")
      assert.strictEqual(yield* host.exit, 0)
    })
  )

  live(
    "keeps running when a probe finds that the server lost the session",
    Effect.gen(function* () {
      const server = yield* ScriptedServer.http({
        sessions: true,
        tools: ["it"],
        rules: [{ on: "ping", nth: 1, do: [ScriptedServer.forget, ...ScriptedServer.respond(404)] }]
      })
      const host = yield* start(yield* temporaryDirectory, {
        servers: { it: { url: server.url, health: { interval: 50, timeout: 1000 } } },
        settled: ["it"],
        generation: ["it", 2],
        calls: [["it", "it"]]
      })
      yield* host.line
      assert.deepStrictEqual<unknown>(yield* host.line, ["ok"])
    })
  )
})
