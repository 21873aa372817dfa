import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { eventually, groupOf, local, textOf } from "../support/session.js"
import {
  awaitSnapshot,
  awaitStatus,
  changesUntil,
  eventsUntil,
  faultyServer,
  firstThen,
  freePort,
  linesUntil,
  live,
  namesOf,
  pidOf,
  serveAt,
  supervise,
  superviseSettled,
  temporaryDirectory,
  withTools
} from "../support/supervised.js"

const { answer, exit, kill, stderr } = ScriptedServer

const tool = (name: string, annotations: object) => ({ name, inputSchema: { type: "object" }, annotations })

/** Reports that it was called, so that everything before it has been read. */
const echoing = { on: "tools/call", where: { name: "echo" }, do: [stderr("echoed\n"), answer()] }

describe.concurrent("a local server that is killed", () => {
  live(
    "restarts by itself, with one event for each status",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: local() })
      const { since } = yield* awaitStatus(supervisor, "it", "connected")
      const killed = yield* pidOf(supervisor, "it")
      const at = Date.now()
      process.kill(killed, "SIGKILL")
      const changes = yield* changesUntil(supervisor, "it", (to) => to.status === "connected" && to.since > since)
      assert.deepStrictEqual(namesOf(changes), ["connecting", "connected", "connecting", "connected"])
      const left = changes.filter(({ from, to }) => from.status === "connected" && to.status !== "connected")
      assert.lengthOf(left, 1)
      assert.isBelow(left[0]!.at - at, 15_000)
      const snapshot = yield* supervisor.server("it")
      assert.strictEqual(snapshot.restarts, 1)
      assert.notStrictEqual(snapshot.pid, killed)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_pid")), String(snapshot.pid))
    })
  )

  live(
    "keeps its tools listed while it restarts",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: local() })
      const before = yield* supervisor.catalog
      const { since } = yield* awaitStatus(supervisor, "it", "connected")
      process.kill(yield* pidOf(supervisor, "it"), "SIGKILL")
      yield* awaitStatus(supervisor, "it", "connected", (status) => status.since > since)
      yield* supervisor.callTool("it_pid")
      assert.strictEqual(yield* supervisor.catalog, before)
      const events = yield* eventsUntil(supervisor, ({ type }) => type === "CallSettled")
      assert.lengthOf(
        events.filter(({ type }) => type === "CatalogChanged"),
        1
      )
    })
  )

  live(
    "settles a call at once as OutcomeUnknown without a second execution, and affects no other server",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: ["write", "echo"],
          rules: [{ on: "tools/call", where: { name: "write" }, do: [stderr("executed\n")] }, echoing]
        }),
        other: ScriptedServer.stdio({
          tools: ["slow"],
          rules: [{ on: "tools/call", do: [stderr("asked\n"), ScriptedServer.sleep(500), answer()] }]
        })
      })
      const call = yield* Effect.fork(Effect.flip(supervisor.callTool("it_write")))
      const other = yield* Effect.fork(supervisor.callTool("other_slow"))
      yield* linesUntil(supervisor, "it", (line) => line === "executed")
      yield* linesUntil(supervisor, "other", (line) => line === "asked")
      process.kill(yield* pidOf(supervisor, "it"), "SIGKILL")
      const [took, error] = yield* Effect.timed(Fiber.join(call))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.isBelow(Duration.toMillis(took), 15_000)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "echo")
      const lines = yield* linesUntil(supervisor, "it", (line) => line === "echoed")
      assert.deepStrictEqual(lines, ["executed", "echoed"])
      assert.strictEqual(textOf(yield* Fiber.join(other)), "slow")
      assert.strictEqual((yield* supervisor.server("other")).generation, 1)
    })
  )

  for (const [name, annotations, replayed] of [
    ["read-only", { readOnlyHint: true }, true],
    ["idempotent", { idempotentHint: true }, true],
    ["idempotent but destructive", { idempotentHint: true, destructiveHint: true }, false]
  ] as const) {
    live(
      `${replayed ? "repeats once" : "does not repeat"} a call of a tool that is ${name}`,
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const tools = [tool("read", annotations), "echo"]
        const reading = (...steps: ReadonlyArray<ScriptedServer.StdioStep>) => ({
          tools,
          rules: [echoing, { on: "tools/call", do: [stderr("executed\n"), ...steps] }]
        })
        const supervisor = yield* superviseSettled({
          it: firstThen(directory, reading(kill("SIGKILL")), reading(answer()))
        })
        const outcome = yield* Effect.either(supervisor.callTool("it_read"))
        if (outcome._tag === "Left") assert.strictEqual(outcome.left._tag, "OutcomeUnknown")
        assert.strictEqual(outcome._tag, replayed ? "Right" : "Left")
        yield* supervisor.callTool("it_echo")
        const lines = yield* linesUntil(supervisor, "it", (line) => line === "echoed")
        assert.deepStrictEqual(lines, [...(replayed ? ["executed", "executed"] : ["executed"]), "echoed"])
      })
    )
  }

  live(
    "repeats a call once if the read-only tool kills the server every time",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: [tool("read", { readOnlyHint: true })],
          rules: [{ on: "tools/call", do: [stderr("executed\n"), kill("SIGKILL")] }]
        })
      })
      const error = yield* Effect.flip(supervisor.callTool("it_read"))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      const { generation } = yield* awaitSnapshot(
        supervisor,
        "it",
        ({ generation, status }) => generation >= 3 && status.status === "connected"
      )
      assert.strictEqual(generation, 3)
    })
  )
})

describe.concurrent("a server in a crash loop", () => {
  live(
    "is given up until a command, with exit code and last stderr lines",
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      // the handshake succeeds each time
      const dying = {
        tools: ["echo"],
        rules: [{ on: "tools/list", do: [answer(), stderr("boom\n"), exit(7)] }]
      }
      const supervisor = yield* supervise({
        servers: {
          it: { ...ScriptedServer.stdio(dying), restart: { base: 10, cap: 20, maxRestarts: 2, cooldown: 60_000 } },
          once: { ...firstThen(directory, dying), restart: { maxRestarts: 0 } }
        }
      })
      const status = yield* awaitStatus(supervisor, "it", "failed", ({ gaveUp }) => gaveUp !== undefined)
      assert.strictEqual(status.exitCode, 7)
      assert.strictEqual(status.stderr?.trim(), "boom")
      assert.strictEqual(status.errorTag, "ProcessExited")
      assert.strictEqual(status.failures, 3)
      assert.strictEqual((yield* supervisor.server("it")).generation, 3)
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.strictEqual(error._tag, "ServerUnavailable")

      yield* awaitStatus(supervisor, "once", "failed", ({ gaveUp }) => gaveUp !== undefined)
      assert.strictEqual((yield* supervisor.restart("once")).status, "connected")
      assert.strictEqual(textOf(yield* supervisor.callTool("once_echo")), "echo")
    })
  )

  live(
    "is used as soon as it can start",
    Effect.gen(function* () {
      const port = yield* freePort
      const url = `http://127.0.0.1:${port}/mcp`
      const supervisor = yield* supervise({
        servers: { it: { url, restart: { base: 50, cap: 100 } } }
      })
      const failed = yield* awaitStatus(supervisor, "it", "failed")
      assert.strictEqual(failed.errorTag, "NetworkFailed")
      assert.isDefined(failed.retryAt)
      yield* serveAt(port, withTools(["echo"]))
      yield* awaitStatus(supervisor, "it", "connected")
      assert.strictEqual(textOf(yield* supervisor.callServerTool("it", "echo")), "called")
    })
  )
})

describe.concurrent("a local server that is stopped", () => {
  const stop = (pid: number) =>
    Effect.acquireRelease(
      Effect.sync(() => process.kill(pid, "SIGSTOP")),
      () => Effect.sync(() => groupOf(pid).forEach((each) => process.kill(each, "SIGKILL")))
    )

  live(
    "is found by a probe and replaced",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: { ...faultyServer(), health: { interval: 100, timeout: 200 } } })
      const pid = yield* pidOf(supervisor, "it")
      const { since } = yield* awaitStatus(supervisor, "it", "connected")
      yield* stop(pid)
      const changes = yield* changesUntil(supervisor, "it", (to) => to.status === "connected" && to.since > since)
      assert.deepStrictEqual(namesOf(changes), ["connecting", "connected", "connecting", "connected"])
      assert.notStrictEqual(yield* pidOf(supervisor, "it"), pid)
      yield* eventually(() => groupOf(pid).length === 0)
    })
  )

  live(
    "is probed once after a call timed out",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        dead: { ...faultyServer(), health: { interval: 60_000, timeout: 200 } },
        busy: {
          ...ScriptedServer.stdio({
            tools: ["silent", "echo"],
            rules: [echoing, { on: "tools/call", do: [] }, { on: "ping", do: [stderr("pinged\n"), answer()] }]
          }),
          health: { interval: 60_000, timeout: 5000 }
        }
      })
      const pid = yield* pidOf(supervisor, "dead")
      yield* stop(pid)
      const errors = yield* Effect.forEach(
        ["dead_echo", "busy_silent"],
        (name) => Effect.flip(supervisor.callTool(name, {}, { idleTimeout: 100 })),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(
        errors.map(({ _tag }) => _tag),
        ["CallTimeout", "CallTimeout"]
      )
      yield* awaitSnapshot(supervisor, "dead", (it) => it.pid !== undefined && it.pid !== pid)
      yield* linesUntil(supervisor, "busy", (line) => line === "pinged")
      yield* supervisor.callTool("busy_echo")
      assert.deepStrictEqual(yield* linesUntil(supervisor, "busy", (line) => line === "echoed"), ["pinged", "echoed"])
      // a server that is only busy is not restarted
      assert.strictEqual((yield* supervisor.server("busy")).generation, 1)
    })
  )
})
