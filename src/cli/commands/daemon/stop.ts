import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FileChildLedger from "../../../connection/process/FileChildLedger.js"
import * as DaemonState from "../../../daemon/DaemonState.js"
import * as FileLock from "../../../system/files/FileLock.js"
import * as ProcessIdentity from "../../../system/processIdentity.js"
import { codeOf } from "../../../system/files/wholeFile.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import { command, type Input } from "../../words/spec.js"
import { laterRelease } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "stop",
  summary: "Stop the supervisor of the state directory",
  details:
    "Stops the supervisor wherever it runs, in the background or in the foreground, and whatever config files it uses. Returns when the supervisor and its servers have ended. Servers that a killed supervisor left behind are ended as well.",
  group: "run",
  arguments: {},
  options: {},
  examples: ["stop"]
})

/** How long to wait for each: another `stop`, the end of the supervisor, and the end of leftover servers. */
const patienceMs = 10_000
const pollIntervalMs = 30

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { stateDir } = hostOf(input)
    const supervisor = yield* findSupervisor(stateDir)
    const isRunning = supervisor !== undefined && (yield* ProcessIdentity.isAlive(supervisor.identity)) !== "dead"
    if (isRunning) yield* oneAtATime(stateDir, stop(supervisor.identity, stateDir))
    else yield* screen.note("no supervisor is running")
    // a supervisor that was killed leaves its servers behind
    yield* screen
      .busy("ending leftover servers", FileChildLedger.clear(stateDir))
      .pipe(Effect.timeoutOption(patienceMs))
    const stopped = isRunning ? supervisor.identity.pid : null
    if (input.json) yield* screen.json({ stopped })
    else if (isRunning) yield* screen.out(`stopped process ${stopped}`)
  })

/**
 * Runs the effect after every other `stop` of the directory has returned: a second signal would kill the servers that the
 * first one shuts down in order. Runs without the lock if it cannot be acquired.
 */
const oneAtATime = <A, E, R>(stateDir: string, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(FileLock.make(join(stateDir, "locks", "stop"), { patience: patienceMs }), (lock) =>
    Effect.catchAll(lock.withLock(effect), (error) =>
      error instanceof FileLock.LockFailed ? effect : Effect.fail(error)
    )
  )

/** Stops this process, and not another supervisor that was started after it. */
const stop = (identity: ProcessIdentity.Identity, stateDir: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { pid } = identity
    // while waiting for another `stop`, the supervisor may have begun to shut down
    const current = yield* findSupervisor(stateDir)
    const isShuttingDown = current?.isShuttingDown === true && current.identity.pid === pid
    yield* signal(identity, stateDir, isShuttingDown)
    const ended = Effect.gen(function* () {
      while ((yield* ProcessIdentity.isAlive(identity)) === "alive") yield* Effect.sleep(pollIntervalMs)
    })
    yield* screen.busy(`waiting for process ${pid}`, ended).pipe(
      Effect.timeoutFail({
        duration: patienceMs,
        onTimeout: () => new CommandFailed({ message: `process ${pid} does not end; end it with: kill -9 ${pid}` })
      })
    )
  })

interface Supervisor {
  readonly identity: ProcessIdentity.Identity
  readonly isShuttingDown: boolean
}

/** The process that supervises the directory, also if it does not respond to requests yet or runs on another machine. */
const findSupervisor = (stateDir: string): Effect.Effect<Supervisor | undefined, CommandFailed> =>
  Effect.gen(function* () {
    const state = yield* DaemonState.find(stateDir)
    switch (state._tag) {
      case "None":
        return undefined
      case "Starting":
      case "Unannounced":
      case "Elsewhere":
        return { identity: state.holder, isShuttingDown: false }
      case "Running":
      case "ShuttingDown":
      case "OtherApi":
        return { identity: state.daemon.identity, isShuttingDown: state._tag === "ShuttingDown" }
      case "Newer":
        return yield* laterRelease(stateDir)
      case "Unreadable":
        return yield* new CommandFailed({
          message: `${stateDir} cannot be read (${state.code}): it is unknown whether a supervisor runs there`
        })
    }
  })

/** Asks the process to shut down, unless it does already. Fails if it may be another process than the supervisor. */
const signal = (identity: ProcessIdentity.Identity, stateDir: string, isShuttingDown: boolean) =>
  Effect.gen(function* () {
    const { machine, pid } = identity
    const liveness = yield* ProcessIdentity.isAlive(identity)
    if (liveness === "unknown") {
      const where = machine === undefined ? "another machine or container" : `another container or machine (${machine})`
      return yield* new CommandFailed({
        message: `process ${pid} of ${where} supervises ${stateDir}, which cannot be stopped from here: stop it there`
      })
    }
    if (liveness === "dead" || isShuttingDown) return
    yield* Effect.try({ try: () => void process.kill(pid, "SIGTERM"), catch: codeOf }).pipe(
      Effect.catchAll((code) =>
        code === "ESRCH"
          ? Effect.void
          : new CommandFailed({ message: `this user cannot stop process ${pid} (${code})` })
      )
    )
  })
