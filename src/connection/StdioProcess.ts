/**
 * A local server's process: started in a group of its own, known to be dead when it exits, and ended with everything it
 * started.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { stat } from "node:fs/promises"
import crossSpawn from "cross-spawn"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { SpawnFailed } from "../domain/Errors.js"
import { withinBudget } from "./budget.js"
import * as ProcessGroups from "./ProcessGroups.js"
import { spawnOptions, spawnReason } from "./StdioCommand.js"

export interface Spec {
  readonly server: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  /** The directories the command is looked for in, for the error message. */
  readonly searched: string
  readonly groups: ProcessGroups.ProcessGroups
  readonly scrub: (text: string) => string
}

export interface Ending {
  readonly exitCode?: number | undefined
  readonly signal?: string | undefined
}

export interface StdioProcess {
  readonly pid: number
  readonly child: ChildProcessWithoutNullStreams
  /** Completes when the process itself has exited and what it had written is read. */
  readonly ended: Deferred.Deferred<Ending>
}

/** How long a process may take to end after its stdin was closed, and again after SIGTERM. */
export const grace = Duration.millis(1500)

/** How long the system may take to carry out SIGKILL. */
const killGrace = Duration.millis(1000)

/** A grandchild may hold the pipes open for ever: what the process wrote is there within this time. */
const drainGrace = Duration.millis(100)

export const spawn = (spec: Spec): Effect.Effect<StdioProcess, SpawnFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { cwd } = spec
    if (cwd !== undefined) yield* checkDirectory(spec, cwd)
    const ended = yield* Deferred.make<Ending>()
    const child = yield* Effect.acquireRelease(start(spec), (child) => end(spec, child, ended))
    const { pid } = child
    if (pid === undefined) return yield* awaitRefusal(spec, child)
    child.once("exit", (code, signal) => {
      const finish = () => {
        child.stdout.destroy()
        child.stderr.destroy()
        child.stdin.destroy()
        Deferred.unsafeDone(ended, Effect.succeed(code === null ? { signal: signal ?? undefined } : { exitCode: code }))
      }
      const timer = setTimeout(finish, Duration.toMillis(drainGrace))
      child.once("close", () => {
        clearTimeout(timer)
        finish()
      })
    })
    return { pid, child, ended }
  })

const checkDirectory = (spec: Spec, cwd: string) =>
  Effect.tryPromise(() => stat(cwd)).pipe(
    Effect.map((found) => found.isDirectory()),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((isDirectory) => (isDirectory ? Effect.void : refusal(spec, "bad_directory", cwd)))
  )

const start = (spec: Spec): Effect.Effect<ChildProcessWithoutNullStreams, SpawnFailed> =>
  Effect.try({
    try: () => {
      const child = crossSpawn(spec.command, [...spec.args], {
        ...spawnOptions(process.platform),
        env: { ...spec.env },
        cwd: spec.cwd
      }) as ChildProcessWithoutNullStreams
      // without a listener each of these would end our own process
      for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter?.on("error", () => {})
      if (child.pid !== undefined) spec.groups.add(child.pid)
      return child
    },
    catch: (error) => failed(spec, error)
  })

const awaitRefusal = (spec: Spec, child: ChildProcessWithoutNullStreams) =>
  Effect.async<never, SpawnFailed>((resume) => {
    child.once("error", (error) => resume(Effect.fail(failed(spec, error))))
  })

const failed = (spec: Spec, error: unknown): SpawnFailed => {
  const reason = spawnReason(String((error as NodeJS.ErrnoException).code)) ?? "bad_arguments"
  return refused(spec, reason, reason === "not_found" ? spec.searched : undefined)
}

const refusal = (spec: Spec, reason: SpawnFailed["reason"], where: string) => Effect.fail(refused(spec, reason, where))

const refused = (spec: Spec, reason: SpawnFailed["reason"], where: string | undefined): SpawnFailed =>
  new SpawnFailed({
    server: spec.server,
    command: spec.scrub(spec.command),
    reason,
    where: where === undefined ? undefined : spec.scrub(where)
  })

/**
 * Closed stdin, then SIGTERM to the group, then SIGKILL to the group, each only if the one before did not do. A container's
 * client passes none but the first on, so nothing comes before it. The leader's exit is not the group's: what it left
 * behind is ended too.
 */
const end = (spec: Spec, child: ChildProcessWithoutNullStreams, ended: Deferred.Deferred<Ending>) =>
  Effect.gen(function* () {
    const { pid } = child
    if (pid === undefined) return
    const gone = (budget: Duration.DurationInput) => awaitGone(pid, ended).pipe(withinBudget(budget))
    child.stdin.end()
    if (Option.isSome(yield* hasExited(ended, grace)) && !ProcessGroups.isRunning(pid)) return
    ProcessGroups.signal(pid, "SIGTERM")
    if (Option.isSome(yield* gone(grace))) return
    ProcessGroups.signal(pid, "SIGKILL")
    yield* gone(killGrace)
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        if (child.pid !== undefined) spec.groups.remove(child.pid)
      })
    )
  )

const hasExited = (ended: Deferred.Deferred<Ending>, budget: Duration.DurationInput) =>
  Deferred.await(ended).pipe(withinBudget(budget))

/** Looks more and more seldom: most groups are gone at once. */
const awaitGone = (pid: number, ended: Deferred.Deferred<Ending>) =>
  Deferred.await(ended).pipe(
    Effect.zipRight(
      Effect.sync(() => ProcessGroups.isRunning(pid)).pipe(
        Effect.repeat({ while: (running) => running, schedule: Schedule.exponential("20 millis", 3) })
      )
    )
  )
