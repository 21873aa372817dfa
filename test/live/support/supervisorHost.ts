/**
 * A program that has a supervisor, to be ended from outside. Arguments: the state directory, and a file with a task as JSON. It says what
 * it did, one JSON a line: the processes of the servers it waited for; then, if it is to call something, how that ended and
 * how its servers are. With nothing to call it stays until a signal ends it, as a program would that closes before it goes.
 */
import { readFileSync } from "node:fs"
import { Effect, Either, Fiber, Layer, Logger } from "effect"
import * as McpSupervisor from "../../../src/McpSupervisor.js"

export interface Task {
  readonly servers: NonNullable<McpSupervisor.Options["servers"]>
  /** Whether the program has a guard. */
  readonly guard?: boolean
  /** The servers to wait for. */
  readonly settled: ReadonlyArray<string>
  /** The servers, tools and arguments to call. */
  readonly calls?: ReadonlyArray<readonly [server: string, tool: string, args?: Record<string, unknown>]>
  /** A server and the generation to wait for. */
  readonly generation?: readonly [server: string, generation: number]
}

const [, , stateDir = "", file = ""] = process.argv
const task = JSON.parse(readFileSync(file, "utf8")) as Task

const say = (words: unknown) => Effect.sync(() => process.stdout.write(`${JSON.stringify(words)}\n`))

const program = Effect.gen(function* () {
  const supervisor = yield* McpSupervisor.McpSupervisor
  const snapshots = yield* supervisor.awaitSettled({ servers: task.settled })
  yield* say(Object.fromEntries(snapshots.map(({ name, pid }) => [name, pid ?? null])))
  if (task.generation !== undefined) {
    const [server, generation] = task.generation
    yield* Effect.iterate(0, {
      while: (reached) => reached < generation,
      body: () => Effect.map(Effect.delay(supervisor.server(server), "20 millis"), (it) => it.generation)
    })
    yield* supervisor.awaitSettled()
  }
  if (task.calls === undefined) return yield* Effect.never
  const outcomes = yield* Effect.forEach(
    task.calls,
    ([server, tool, args]) =>
      Effect.map(
        Effect.either(
          supervisor.callServerTool(server, tool, args, {
            // those that were waited for are good, however slow the machine is
            idleTimeout: task.settled.includes(server) ? "30 seconds" : "1 second",
            waitForReady: "1 second"
          })
        ),
        Either.match({ onLeft: ({ _tag }) => _tag, onRight: () => "ok" })
      ),
    { concurrency: "unbounded" }
  )
  yield* say(outcomes)
  yield* supervisor.awaitSettled({ timeout: "5 seconds" })
  yield* say(Object.fromEntries((yield* supervisor.servers).map(({ name, status }) => [name, status.status])))
}).pipe(
  Effect.provide(
    Layer.provide(
      McpSupervisor.layerNode({ stateDir, servers: task.servers, guard: task.guard }),
      Logger.remove(Logger.defaultLogger)
    )
  )
)

const fiber = Effect.runFork(program)
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129]
] as const) {
  process.once(signal, () => {
    void Effect.runPromise(Fiber.interrupt(fiber)).then(() => process.exit(code))
  })
}
