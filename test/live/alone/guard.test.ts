import type { ChildProcess } from "node:child_process"
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, HashMap, Layer, Logger, Scope, TestClock, TestServices } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { ProcessGuard } from "../../../src/connection/ProcessGuard.js"
import * as ShellProcessGuard from "../../../src/connection/process/ShellProcessGuard.js"
import { guardsOf, mark, processesCalled, processesCarrying } from "../support/marked.js"
import { program } from "../support/program.js"
import { connect, eventually, faulty } from "../support/session.js"
import type { Task } from "../support/supervisorHost.js"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "guard-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A process that ignores SIGTERM. */
const stubborn = `sh -c 'trap "" TERM; exec sleep 300'`

const server = (...flags: ReadonlyArray<string>) => `exec "${process.execPath}" "${faulty}" ${flags.join(" ")}`

/** Servers of all kinds that do not exit by themselves, with their number of processes. */
const kinds = {
  direct: [server("ignore-eof", "ignore-term"), 1],
  grandchild: [`${stubborn} & ${server("ignore-eof", "ignore-term")}`, 2],
  session: [`setsid ${stubborn} & ${server("ignore-eof")}`, 2],
  sessionInSession: [`setsid sh -c 'setsid sleep 300 & exec sleep 300' & ${server("ignore-eof", "ignore-term")}`, 3],
  orphaned: [`(${stubborn} &) ; ${server()}`, 2]
} as const

const entriesOf = (value: string) =>
  Object.fromEntries(
    Object.entries(kinds).map(([name, [line]]) => [
      name,
      { command: ["sh", "-c", line], environment: { TEST_MARK: value } }
    ])
  )

const processes = Object.values(kinds).reduce((sum, [, count]) => sum + count, 0)

/** A program with a supervisor whose servers run. */
const startHost = (task: Task) => Effect.flatMap(directory, (path) => startHostIn(path, task))

const startHostIn = (path: string, task: Task) =>
  Effect.gen(function* () {
    const file = join(path, "task.json")
    writeFileSync(file, JSON.stringify(task))
    return yield* program("./supervisorHost.ts", path, file)
  })

const started = (task: Task) => Effect.flatMap(directory, (path) => startedIn(path, task))

const startedIn = (path: string, task: Task) =>
  Effect.tap(startHostIn(path, task), (host) => host.line((line) => line.startsWith("{")))

const kill = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

/** Kills the program, and returns the time until no process with the mark and no guard is left. */
const afterKill = (pid: number, value: string) => {
  const guards = guardsOf(pid)
  process.kill(pid, "SIGKILL")
  return Effect.timed(
    eventually(() => processesCarrying(`TEST_MARK=${value}`).length === 0 && guardsOf(pid).length === 0)
  ).pipe(Effect.map(([took]) => ({ guards, took: Duration.toMillis(took) })))
}

describe.concurrent("a supervisor that is killed", () => {
  it.scopedLive(
    "leaves no process, whatever signals its servers ignore and in whatever session their children are",
    () =>
      Effect.gen(function* () {
        const value = yield* mark("killed")
        const other = yield* mark("bystander")
        const host = yield* started({ servers: entriesOf(value), settled: Object.keys(kinds) })
        const bystander = yield* started({ servers: { it: entriesOf(other).direct! }, settled: ["it"] })
        yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length === processes)
        const { guards, took } = yield* afterKill(host.child.pid!, value)
        assert.strictEqual(guards.length, 1)
        // a limit for a busy machine; the guarantee is 3 seconds
        assert.isBelow(took, 25_000)
        assert.strictEqual(processesCarrying(`TEST_MARK=${other}`).length, 1)
        assert.strictEqual(guardsOf(bystander.child.pid).length, 1)
      })
  )

  it.scopedLive("leaves no server that overwrote or dropped its environment", () =>
    Effect.gen(function* () {
      const value = yield* mark("untagged")
      const command = ["sh", "-c", `exec env -i "${process.execPath}" "${faulty}" ignore-eof ignore-term ${value}`]
      const untagged = () => processesCalled(value)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const pid of untagged()) process.kill(pid, "SIGKILL")
        })
      )
      const host = yield* started({ servers: { it: { command } }, settled: ["it"] })
      assert.lengthOf(untagged(), 1)
      process.kill(host.child.pid!, "SIGKILL")
      yield* eventually(() => untagged().length === 0)
    })
  )

  it.scopedLive("leaves no process that was still starting", () =>
    Effect.gen(function* () {
      const value = yield* mark("starting")
      const command = ["sh", "-c", `${stubborn} & setsid ${stubborn} & ${server("hang", "ignore-eof", "ignore-term")}`]
      const environment = { TEST_MARK: value }
      const servers = Object.fromEntries(Array.from({ length: 4 }, (_, each) => [`s${each}`, { command, environment }]))
      const host = yield* startHost({ servers, settled: Object.keys(servers) })
      // as soon as there is one process, while the others are starting
      yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length > 0)
      yield* afterKill(host.child.pid!, value)
    })
  )

  it.scopedLive("leaves no process if its guard was killed and replaced before", () =>
    Effect.gen(function* () {
      const value = yield* mark("replaced")
      const host = yield* started({ servers: { it: entriesOf(value).grandchild! }, settled: ["it"] })
      const [first] = guardsOf(host.child.pid)
      process.kill(first!, "SIGKILL")
      yield* eventually(() => guardsOf(host.child.pid).some((pid) => pid !== first))
      yield* afterKill(host.child.pid!, value)
    })
  )

  it.scopedLive("has no guard with `guard: false`; the next supervisor ends its servers", () =>
    Effect.gen(function* () {
      const path = yield* directory
      const value = yield* mark("unguarded")
      const host = yield* startedIn(path, { servers: { it: entriesOf(value).direct! }, settled: ["it"], guard: false })
      assert.deepStrictEqual(guardsOf(host.child.pid), [])
      const left = processesCarrying(`TEST_MARK=${value}`)
      assert.lengthOf(left, 1)
      yield* kill(host.child)
      assert.deepStrictEqual(processesCarrying(`TEST_MARK=${value}`), left)
      const next = yield* mark("next")
      yield* startedIn(path, { servers: { it: entriesOf(next).direct! }, settled: ["it"], guard: false })
      yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length === 0)
      assert.lengthOf(processesCarrying(`TEST_MARK=${next}`), 1)
    })
  )
})

describe("the guard", () => {
  const guarded = Layer.provide(Connector.layer(), ShellProcessGuard.layer)

  it.scopedLive("holds no descriptor of its supervisor, survives its terminal, and exits in an orderly shutdown", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(guarded, scope)
      assert.deepStrictEqual(guardsOf(process.pid), [])
      const kept = () => process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length
      const before = kept()
      const value = yield* mark("orderly")
      yield* Effect.gen(function* () {
        yield* connect({ command: ["sh", "-c", server()], environment: { TEST_MARK: value } })
        // only the server
        assert.strictEqual(kept(), before + 1)
        const [pid, ...more] = guardsOf(process.pid)
        assert.deepStrictEqual(more, [])
        for (const descriptor of [1, 2]) assert.strictEqual(readlinkSync(`/proc/${pid}/fd/${descriptor}`), "/dev/null")
        assert.strictEqual(readlinkSync(`/proc/${pid}/cwd`), "/")
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid!, signal)
        yield* connect({ command: ["sh", "-c", server()], environment: { TEST_MARK: value } })
        assert.deepStrictEqual(guardsOf(process.pid), [pid!])
      }).pipe(Effect.scoped, Effect.provide(context))
      assert.strictEqual(guardsOf(process.pid).length, 1)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(guardsOf(process.pid), [])
    })
  )

  /** Records all log messages instead of showing them. */
  const logged = () => {
    const lines: Array<object> = []
    const logger = Logger.make(({ annotations, logLevel, message }) => {
      lines.push({
        level: logLevel.label,
        message: String(message),
        ...Object.fromEntries(HashMap.toEntries(annotations))
      })
    })
    return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
  }

  const ended = (retryIn: number) => ({ level: "WARN", message: "mcp.guard.ended", ended: "SIGKILL", retryIn })
  const restarted = { level: "INFO", message: "mcp.guard.restarted" }

  it.scopedLive("is replaced and reported when it is killed", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const value = yield* mark("reported")
      yield* Effect.gen(function* () {
        yield* connect({ command: ["sh", "-c", server()], environment: { TEST_MARK: value } })
        const [first] = guardsOf(process.pid)
        process.kill(first!, "SIGKILL")
        yield* eventually(() => guardsOf(process.pid).some((pid) => pid !== first))
        yield* eventually(() => lines.length === 2)
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(guarded, layer)))
      assert.deepStrictEqual(lines, [ended(0), restarted])
      assert.deepStrictEqual(guardsOf(process.pid), [])
    })
  )

  it.scoped("is replaced at once if it ran for long, otherwise after a delay, with a report", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const live = (holds: () => boolean) => TestServices.provideLive(eventually(holds))
      yield* Effect.gen(function* () {
        const guard = yield* ProcessGuard
        const watch = yield* guard.watch("a")
        watch.prepare()
        const kill = Effect.gen(function* () {
          yield* live(() => guardsOf(process.pid).length === 1)
          const [pid] = guardsOf(process.pid)
          const told = lines.length
          process.kill(pid!, "SIGKILL")
          yield* live(() => lines.length > told)
        })
        yield* kill
        yield* live(() => lines.length === 2)
        yield* kill
        assert.deepStrictEqual(lines, [ended(0), restarted, ended(1000)])
        assert.deepStrictEqual(guardsOf(process.pid), [])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines.slice(3), [restarted])
        yield* TestClock.adjust("1 hour")
        yield* kill
        yield* live(() => lines.length === 6)
        assert.deepStrictEqual(lines.slice(4), [ended(0), restarted])
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(ShellProcessGuard.layer, layer)))
    })
  )
})
