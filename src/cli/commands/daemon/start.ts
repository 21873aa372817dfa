import { spawn } from "node:child_process"
import { closeSync, constants, fchmodSync, lstatSync, renameSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as InheritedRun from "../../../connection/process/inheritedRun.js"
import { AlreadyRunning } from "../../../daemon/Daemon.js"
import { version } from "../../../domain/internal/version.js"
import { connect, type Daemon, discover, type Discovered } from "../../../daemon/discover.js"
import { openOwnSync, UnsafePath } from "../../../system/files/ownership.js"
import { codeOf, makeDirectory } from "../../../system/files/wholeFile.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { connectChecked } from "../../supervisor/RemoteSupervisor.js"
import { Screen } from "../../terminal/Screen.js"
import * as StartReport from "./startReport.js"
import { command, flag, type Input, text, whole } from "../../words/spec.js"

export const spec = command({
  name: "start",
  summary: "Run a supervisor with the control API in the background",
  details:
    "Starts a daemon, which runs serve and writes a log file in the state directory. Returns when the control API accepts requests.",
  group: "run",
  arguments: {},
  options: {
    port: whole("PORT", "The port to listen on; 0 selects a free port. Default 7444", 65_535),
    host: text("HOST", "The address to listen on. Default 127.0.0.1"),
    demo: flag("Add the example servers")
  },
  examples: ["start", "start --port 0 --json"]
})

/** How long to wait for the new supervisor, or for one that is shutting down. */
const readyMs = 30_000

/** How long to wait for a supervisor of another `start`. It is longer because many starts at once slow each other down. */
const otherReadyMs = 60_000

const pollIntervalMs = 50
const maxLogBytes = 10 * 1024 * 1024

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const state = yield* screen.busy("waiting for a supervisor that is shutting down", awaitShutdown(host)).pipe(
      Effect.timeoutFail({
        duration: readyMs,
        onTimeout: () =>
          new CommandFailed({ message: "another supervisor is still shutting down; see: mcp-supervisor stop" })
      })
    )
    const existing = yield* usableDaemon(state, host)
    if (existing !== undefined) return yield* printExisting(input, existing)
    const log = join(host.stateDir, "supervisor.log")
    yield* Effect.tryPromise({ try: () => makeDirectory(host.stateDir), catch: unusable(host.stateDir) })
    const child = yield* launch(input, host, log)
    const daemon = yield* screen.busy("starting", awaitReady(child, host, log)).pipe(
      // a supervisor that did not become ready must not keep running unnoticed
      Effect.onError(() => Effect.sync(() => child.kill("SIGTERM")))
    )
    child.release()
    if (daemon.pid !== child.pid) return yield* printExisting(input, daemon)
    yield* screen.note(`supervising in the background (process ${daemon.pid}), log in ${log}`)
    return yield* printAddress(input, daemon)
  })

/** The state of the directory once no supervisor of it is shutting down. */
const awaitShutdown = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    while (true) {
      const state = yield* discover(host)
      if (state._tag !== "ShuttingDown") return state
      yield* Effect.sleep(pollIntervalMs)
    }
  })

/** The running supervisor of the same config files. Fails if it serves other config files, or does not respond. */
const usableDaemon = (state: Discovered, host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    if (state._tag === "Running")
      return yield* Effect.as(Effect.scoped(connectChecked(state.daemon, host)), state.daemon)
    if (state._tag !== "OtherFiles") return undefined
    const { address, pid } = state.daemon
    return yield* new AlreadyRunning({ stateDir: host.stateDir, pid, address })
  })

const printExisting = (input: Input<typeof spec>, daemon: Daemon) =>
  Effect.flatMap(Screen, (screen) =>
    Effect.zipRight(screen.note(`a supervisor is already running (process ${daemon.pid})`), printAddress(input, daemon))
  )

const printAddress = (input: Input<typeof spec>, daemon: Daemon) =>
  Effect.flatMap(Screen, (screen) => {
    const { address, pid, socket } = daemon
    const { stateDir } = hostOf(input)
    return input.json ? screen.out(JSON.stringify({ address, socket, pid, stateDir })) : screen.out(address)
  })

interface Child {
  readonly pid: number | undefined
  readonly kill: (signal: NodeJS.Signals) => boolean
  /** Lets this process exit while the child keeps running. */
  readonly release: () => void
  readonly ended: Promise<Ended>
}

interface Ended {
  readonly code: number
  /** Why it ended, if the child reported it or a signal ended it. */
  readonly reason: string | undefined
}

const launch = (input: Input<typeof spec>, host: ReturnType<typeof hostOf>, log: string) =>
  Effect.try({
    try: (): Child => {
      const size = lstatSync(log, { throwIfNoEntry: false })?.size ?? 0
      if (size > maxLogBytes) renameSync(log, `${log}.1`)
      const file = openOwnSync(log, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT)
      fchmodSync(file, 0o600)
      writeSync(file, `started at ${new Date().toISOString()}, release ${version}\n`)
      const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...serveWords(input, host)], {
        detached: true,
        windowsHide: true,
        cwd: host.cwd,
        // the daemon does not belong to the server that may have run this command
        env: InheritedRun.without(process.env),
        stdio: ["ignore", file, file, "ipc"]
      })
      closeSync(file)
      let reason: string | undefined
      child.on("message", (message) => {
        reason = StartReport.reasonIn(message) ?? reason
      })
      const ended = new Promise<Ended>((resolve) => {
        child.once("error", (error) => resolve({ code: 1, reason: error.message }))
        // the channel can deliver messages after the process has exited, until it is closed
        const closed = new Promise<void>((done) => child.once("disconnect", done))
        child.once("exit", (code, signal) =>
          closed.then(() =>
            resolve(code === null ? { code: 1, reason: `the supervisor was ended by ${signal}` } : { code, reason })
          )
        )
      })
      const release = () => {
        if (child.connected) child.disconnect()
        child.unref()
      }
      return { pid: child.pid, kill: (signal) => child.kill(signal), release, ended }
    },
    catch: unusable(host.stateDir)
  })

const unusable = (stateDir: string) => (error: unknown) =>
  error instanceof UnsafePath
    ? new CommandFailed({ message: `${error.message}; move it away` })
    : new CommandFailed({ message: `${stateDir} cannot be used: ${codeOf(error)}; choose another --state-dir` })

/** The words of the `serve` command that the child runs. */
const serveWords = (
  input: Input<typeof spec>,
  { cwd, files, stateDir }: ReturnType<typeof hostOf>
): ReadonlyArray<string> => [
  "serve",
  "--cwd",
  cwd,
  "--state-dir",
  stateDir,
  ...files.flatMap((file) => ["--config", file]),
  ...(input.port === undefined ? [] : ["--port", String(input.port)]),
  ...(input.host === undefined ? [] : ["--host", input.host]),
  ...(input.demo ? ["--demo"] : [])
]

/** The supervisor that another `start` has begun: it may hold the lock and not have written its address yet. */
const awaitOther = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    while (true) {
      const state = yield* awaitShutdown(host)
      const daemon = yield* usableDaemon(state, host)
      if (daemon !== undefined || state._tag !== "Starting") return daemon
      yield* Effect.sleep(pollIntervalMs)
    }
  })

/**
 * The supervisor once it responds: the child, or, if the child ends because another `start` was faster, the supervisor of that
 * one. Fails with the reason if there is none.
 */
const awaitReady = (child: Child, host: ReturnType<typeof hostOf>, log: string) => {
  const responding = Effect.gen(function* () {
    while (true) {
      const found = yield* discover(host)
      if ("daemon" in found && found.daemon.pid === child.pid) {
        const health = Effect.scoped(Effect.flatMap(connect(found.daemon, host), (client) => client.system.health({})))
        if ((yield* Effect.either(health))._tag === "Right") return found.daemon
      }
      yield* Effect.sleep(pollIntervalMs)
    }
  })
  const ended = Effect.promise(() => child.ended)
  return Effect.gen(function* () {
    const first = yield* Effect.raceFirst(responding, ended).pipe(
      Effect.timeoutFail({
        duration: readyMs,
        onTimeout: () =>
          new CommandFailed({ message: `the supervisor is not ready after ${readyMs / 1000} s; see ${log}` })
      })
    )
    if (!("code" in first)) return first
    const other = yield* awaitOther(host).pipe(
      // it may not respond yet
      Effect.retry({
        while: (error) => !(error instanceof AlreadyRunning),
        schedule: Schedule.spaced(pollIntervalMs)
      }),
      Effect.timeoutOption(otherReadyMs)
    )
    if (Option.isSome(other) && other.value !== undefined) return other.value
    const { code, reason = `the supervisor ended with code ${first.code}; see ${log}` } = first
    return yield* new CommandFailed({ message: reason, code: code === 2 ? 2 : 1 })
  })
}
