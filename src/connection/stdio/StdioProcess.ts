/**
 * Starts a local server's process in its own process group, observes its exit, and ends it with its descendants.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { stat } from "node:fs/promises"
import crossSpawn from "cross-spawn"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { SpawnFailed } from "../../domain/Errors.js"
import { withinBudget } from "../../system/budget.js"
import * as ProcessGroups from "../process/ProcessGroups.js"
import { spawnOptions, spawnReason, type Tag } from "./StdioCommand.js"
import type { StrayProcesses } from "../process/StrayProcesses.js"

export interface ProcessSpec {
  readonly server: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  /** The directories in which the command is looked up, for the error message. */
  readonly searched: string
  /** The tag in the environment of the process. */
  readonly tag: Tag
  readonly groups: ProcessGroups.ProcessGroups
  readonly strays: StrayProcesses
  readonly scrub: (text: string) => string
}

export interface Ending {
  readonly exitCode?: number | undefined
  readonly signal?: string | undefined
}

export interface StdioProcess {
  readonly pid: number
  readonly child: ChildProcessWithoutNullStreams
  /** Completes when the process has exited and its output is read. */
  readonly ended: Deferred.Deferred<Ending>
}

/** The time a process has to end after its stdin was closed, and again after SIGTERM. */
const grace = Duration.millis(1500)

/** The time the system has to carry out SIGKILL. */
const killGrace = Duration.millis(1000)

/** The maximum wait for file descriptors that are needed to see whether processes are left. */
const shortageGrace = Duration.seconds(30)

/** The maximum wait for output after the exit. A grandchild may hold the pipes open forever. */
const drainGrace = Duration.millis(100)

export const spawn = (spec: ProcessSpec): Effect.Effect<StdioProcess, SpawnFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { cwd } = spec
    if (cwd !== undefined) yield* checkDirectory(spec, cwd)
    const { child, ended, pid } = yield* Effect.acquireRelease(start(spec), end(spec))
    return { pid, child, ended }
  })

/** A running process, and the fiber that ends when nothing that it started runs any more. */
interface Started extends StdioProcess {
  readonly rest: Fiber.Fiber<void>
}

const start = (spec: ProcessSpec): Effect.Effect<Started, SpawnFailed> =>
  Effect.gen(function* () {
    const refused = yield* Deferred.make<never, SpawnFailed>()
    const child = yield* launch(spec, refused)
    const { pid } = child
    if (pid === undefined) return yield* Deferred.await(refused)
    spec.groups.add(pid)
    const ended = yield* Deferred.make<Ending>()
    child.once("exit", (code, signal) => {
      const finish = () => {
        child.stdout.destroy()
        child.stderr.destroy()
        child.stdin.destroy()
        Deferred.unsafeDone(ended, Effect.succeed(code === null ? { signal: signal ?? undefined } : { exitCode: code }))
      }
      // On a busy machine the timer may fire before pending output is read: `setImmediate` lets the event loop read it first.
      const timer = setTimeout(() => setImmediate(finish), Duration.toMillis(drainGrace))
      child.once("close", () => {
        clearTimeout(timer)
        finish()
      })
    })
    const rest = yield* spec.groups.run(bury(spec, pid, ended))
    return { pid, child, ended, rest }
  })

const checkDirectory = (spec: ProcessSpec, cwd: string) =>
  Effect.tryPromise(() => stat(cwd)).pipe(
    Effect.map((found) => found.isDirectory()),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((isDirectory) => (isDirectory ? Effect.void : Effect.fail(spawnFailed(spec, "bad_directory", cwd))))
  )

const launch = (
  spec: ProcessSpec,
  refused: Deferred.Deferred<never, SpawnFailed>
): Effect.Effect<ChildProcessWithoutNullStreams, SpawnFailed> =>
  Effect.try({
    try: () => {
      spec.groups.prepare()
      const child = crossSpawn(spec.command, [...spec.args], {
        ...spawnOptions(process.platform),
        env: { ...spec.env },
        cwd: spec.cwd
      }) as ChildProcessWithoutNullStreams
      child.on("error", (error) => Deferred.unsafeDone(refused, Effect.fail(failed(spec, error))))
      // Without a listener, an error of these streams would end this process.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {})
      return child
    },
    catch: (error) => failed(spec, error)
  })

const failed = (spec: ProcessSpec, error: unknown): SpawnFailed => {
  const code = String((error as NodeJS.ErrnoException).code)
  const reason = spawnReason(code) ?? "bad_arguments"
  return spawnFailed(spec, reason, reason === "not_found" ? spec.searched : undefined, code)
}

const spawnFailed = (
  spec: ProcessSpec,
  reason: SpawnFailed["reason"],
  where: string | undefined,
  code?: string
): SpawnFailed =>
  new SpawnFailed({
    server: spec.server,
    command: spec.scrub(spec.command),
    reason,
    where: where === undefined ? undefined : spec.scrub(where),
    ...(reason === "no_resources" ? { code } : {})
  })

/**
 * Ends the descendants of a leader as soon as it has exited: later its pid may be reused. If processes cannot be listed for
 * lack of file descriptors, they are assumed to exist.
 */
const bury = (spec: ProcessSpec, pid: number, ended: Deferred.Deferred<Ending>): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Deferred.await(ended)
    let found = yield* endRest(spec, pid, "SIGTERM", grace)
    if (found !== "nothing") found = yield* endRest(spec, pid, "SIGKILL", killGrace)
    if (found === "unknown") found = yield* endRest(spec, pid, "SIGKILL", shortageGrace)
    if (found === "nothing") spec.groups.remove(pid)
    else spec.groups.giveUp(pid)
  }).pipe(
    Effect.onInterrupt(() =>
      Effect.sync(() => {
        if (!ProcessGroups.isAlive(pid)) spec.groups.giveUp(pid)
      })
    )
  )

/** The result of the last check. */
type Remaining = "nothing" | "something" | "unknown"

/**
 * Signals every descendant once, in the group or in a session of its own. Then checks at growing intervals until none is left:
 * most end immediately.
 */
const endRest = (
  spec: ProcessSpec,
  pid: number,
  name: "SIGTERM" | "SIGKILL",
  budget: Duration.DurationInput
): Effect.Effect<Remaining> =>
  Effect.suspend(() => {
    const signalled = new Set<number>()
    let found: Remaining = "unknown"
    const look = Effect.gen(function* () {
      found = "unknown"
      const isGroupRunning = ProcessGroups.isRunning(pid)
      // While the group runs, strays are searched only once: a search is expensive and cannot finish the wait.
      if (isGroupRunning && signalled.has(pid)) return void (found = "something")
      if (isGroupRunning) {
        signalled.add(pid)
        ProcessGroups.signal(pid, name)
      }
      const strays = yield* spec.strays.find(spec.tag, pid)
      yield* signalStrays(
        spec,
        strays.filter((stray) => !signalled.has(stray)),
        name
      )
      for (const stray of strays) signalled.add(stray)
      found = isGroupRunning || strays.length > 0 ? "something" : "nothing"
    })
    return Effect.ignore(look).pipe(
      Effect.repeat({ until: () => found === "nothing", schedule: looks }),
      Effect.timeoutOption(budget),
      Effect.map(() => found)
    )
  })

const looks = Schedule.union(Schedule.exponential("20 millis", 3), Schedule.spaced("500 millis"))

const signalStrays = (spec: ProcessSpec, strays: ReadonlyArray<number>, name: "SIGTERM" | "SIGKILL") =>
  Effect.try(() => spec.strays.signal(spec.tag, strays, name))

/** Signals the group immediately, and the processes that have left it as soon as they are found. */
const signal = (spec: ProcessSpec, pid: number, name: "SIGTERM" | "SIGKILL") =>
  Effect.suspend(() => {
    if (ProcessGroups.isAlive(pid)) ProcessGroups.signal(pid, name)
    return Effect.flatMap(spec.strays.find(spec.tag, pid), (strays) => signalStrays(spec, strays, name))
  }).pipe(Effect.ignore)

/**
 * Closes stdin, then sends SIGTERM, then SIGKILL, each only if the previous step was not enough. The client of a container
 * (`docker run -i`) forwards only the end of stdin, so this comes first.
 */
const end =
  (spec: ProcessSpec) =>
  ({ child, pid, rest }: Started) =>
    Effect.gen(function* () {
      const isBuriedAfter = (step: Effect.Effect<void>, budget: Duration.DurationInput) =>
        Effect.map(withinBudget(budget)(Effect.zipRight(step, Fiber.await(rest))), Option.isSome)
      child.stdin.end()
      if (yield* isBuriedAfter(Effect.void, grace)) return
      if (yield* isBuriedAfter(signal(spec, pid, "SIGTERM"), grace)) return
      yield* isBuriedAfter(signal(spec, pid, "SIGKILL"), killGrace)
    })
