/**
 * A program that supervises a good server and servers that flood it, and measures what the good one notices. Argument: a file
 * with a task as JSON. It writes one line of JSON with what it saw.
 */
import { readFileSync } from "node:fs"
import { Context, Duration, Effect, Either, Exit, Layer, Logger, Scope } from "effect"
import * as McpSupervisor from "../../../src/McpSupervisor.js"

export interface Task {
  readonly stateDir: string
  /** The one that is called. It has a tool `echo`. */
  readonly good: NonNullable<McpSupervisor.Options["servers"]>[string]
  readonly floods: NonNullable<McpSupervisor.Options["servers"]>
  /** Milliseconds. */
  readonly during: number
  /** Handlers that never answer. */
  readonly silentHandlers?: boolean
}

export interface Seen {
  /** Milliseconds that calls of the good server took: before the flood, and during it. */
  readonly quiet: { readonly calls: number; readonly p99: number }
  readonly flooded: { readonly calls: number; readonly failed: number; readonly p99: number; readonly max: number }
  /** Megabytes at most. */
  readonly memory: number
  /** Milliseconds that closing took. */
  readonly close: number
  /** Status and error of each server at the end. */
  readonly statuses: Readonly<Record<string, string>>
  /** Whether a call of a flooding server is answered during its flood. */
  readonly answers: Readonly<Record<string, string>>
}

const task = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Task

let memory = 0
setInterval(() => {
  memory = Math.max(memory, process.memoryUsage.rss())
}, 20).unref()

const percentile = (times: ReadonlyArray<number>, part: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0

const program = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const handlers = task.silentHandlers === true ? { onSample: () => Effect.never, onElicit: () => Effect.never } : {}
  const supervisor = Context.get(
    yield* Layer.build(
      Layer.provide(
        McpSupervisor.layerNode({
          stateDir: task.stateDir,
          servers: { good: task.good, ...task.floods },
          ...handlers
        }),
        Logger.remove(Logger.defaultLogger)
      )
    ).pipe(Scope.extend(scope)),
    McpSupervisor.McpSupervisor
  )
  yield* supervisor.awaitSettled({ servers: ["good"] })
  const measure = (millis: number) =>
    Effect.gen(function* () {
      const times: Array<number> = []
      let failed = 0
      for (const until = performance.now() + millis; performance.now() < until; ) {
        const [took, outcome] = yield* Effect.timed(
          Effect.either(supervisor.callServerTool("good", "echo", { value: "x" }))
        )
        times.push(Duration.toMillis(took))
        if (Either.isLeft(outcome)) failed += 1
        yield* Effect.sleep("5 millis")
      }
      return { calls: times.length, failed, p99: percentile(times, 0.99), max: Math.max(0, ...times) }
    })
  const quiet = yield* measure(200)
  yield* Effect.forEach(
    Object.keys(task.floods),
    (name) => supervisor.callServerTool(name, "flood").pipe(Effect.ignore, Effect.forkIn(scope)),
    { discard: true }
  )
  const flooded = yield* measure(task.during)
  const answers: Record<string, string> = {}
  yield* Effect.forEach(
    Object.keys(task.floods),
    (name) =>
      supervisor.callServerTool(name, "echo", { value: "x" }).pipe(
        Effect.timeoutFail({ duration: "1 second", onTimeout: () => ({ _tag: "late" }) }),
        Effect.match({
          onFailure: ({ _tag }) => void (answers[name] = _tag),
          onSuccess: () => void (answers[name] = "ok")
        })
      ),
    { concurrency: "unbounded", discard: true }
  )
  const statuses = Object.fromEntries(
    (yield* supervisor.servers).map(({ name, status }) => [
      name,
      "error" in status ? `${status.status}: ${String(status.error)}` : status.status
    ])
  )
  const [close] = yield* Effect.timed(Scope.close(scope, Exit.void))
  const seen: Seen = {
    quiet,
    flooded,
    answers,
    statuses,
    memory: Math.round(memory / 1024 / 1024),
    close: Duration.toMillis(close)
  }
  process.stdout.write(`${JSON.stringify(seen)}\n`)
})

await Effect.runPromise(program)
