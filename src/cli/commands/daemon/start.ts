import { spawn } from "node:child_process"
import { closeSync, constants, fchmodSync, lstatSync, renameSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as InheritedRun from "../../../connection/process/inheritedRun.js"
import * as DaemonLock from "../../../daemon/DaemonLock.js"
import { AlreadyRunning } from "../../../daemon/Daemon.js"
import * as DaemonFile from "../../../daemon/DaemonFile.js"
import * as SocketPath from "../../../daemon/socketPath.js"
import { version } from "../../../domain/internal/version.js"
import { connect, type Daemon, discover } from "../../../daemon/discover.js"
import { openOwnSync, UnsafePath } from "../../../system/ownership.js"
import { codeOf, makeDirectory } from "../../../system/wholeFile.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { reached } from "../../supervisor/RemoteSupervisor.js"
import { Screen } from "../../terminal/Screen.js"
import * as StartReport from "./startReport.js"
import { command, flag, type Input, text, whole } from "../../words/spec.js"

export const spec = command({
  name: "start",
  summary: "Run a supervisor with the control API in the background",
  details:
    "Starts serve as a daemon that writes a log file in the state directory. Returns when the control API accepts requests.",
  group: "run",
  arguments: {},
  options: {
    port: whole("PORT", "The port to listen on; 0 selects a free port. Default 7444", 65_535),
    host: text("HOST", "The address to listen on. Default 127.0.0.1"),
    demo: flag("Add the example servers")
  },
  examples: ["start", "start --port 0 --json"]
})

const readyMs = 30_000

/** How long a supervisor that another `start` has begun may take: many at once take longer. */
const fasterMs = 60_000

/** How long after it listens a supervisor may take to write `daemon.json`. */
const announcedMs = 5_000

const lookEveryMs = 50
const maxLog = 10 * 1024 * 1024

/** How the lines of each run begin in the log. */
const begun = "started at"

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const before = yield* screen.busy("waiting for the one that ends", already(host)).pipe(
      Effect.timeoutFail({
        duration: readyMs,
        onTimeout: () => new CommandFailed({ message: "another supervisor does not end; see: mcp-supervisor stop" })
      })
    )
    if (before !== undefined) return yield* announceAgain(input, before)
    const log = join(host.stateDir, "supervisor.log")
    yield* Effect.tryPromise({ try: () => makeDirectory(host.stateDir), catch: unusable(host.stateDir) })
    const child = yield* launch(input, host, log)
    const daemon = yield* screen.busy("starting", ready(child, host, log)).pipe(
      // what does not begin as it should must not go on unseen
      Effect.onError(() => Effect.sync(() => child.kill("SIGTERM")))
    )
    child.release()
    if (daemon.pid !== child.pid) return yield* announceAgain(input, daemon)
    yield* screen.note(`supervising in the background (process ${daemon.pid}), log in ${log}`)
    return yield* announce(input, daemon)
  })

/** Who supervises there for the same config files; fails if it is for others, or does not answer. Who ends is waited for. */
const already = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    let found = yield* discover(host)
    for (; found._tag === "Ending"; found = yield* discover(host)) yield* Effect.sleep(lookEveryMs)
    if (found._tag === "Running") return yield* Effect.as(Effect.scoped(reached(found.daemon, host)), found.daemon)
    if (found._tag !== "OtherFiles") return undefined
    const { address, pid } = found.daemon
    return yield* new AlreadyRunning({ stateDir: host.stateDir, pid, address })
  })

const announceAgain = (input: Input<typeof spec>, daemon: Daemon) =>
  Effect.flatMap(Screen, (screen) =>
    Effect.zipRight(screen.note(`it is running already (process ${daemon.pid})`), announce(input, daemon))
  )

const announce = (input: Input<typeof spec>, daemon: Daemon) =>
  Effect.flatMap(Screen, (screen) => {
    const { address, pid, socket } = daemon
    const { stateDir } = hostOf(input)
    return input.json ? screen.out(JSON.stringify({ address, socket, pid, stateDir })) : screen.out(address)
  })

const isBeginning = (stateDir: string) =>
  Effect.gen(function* () {
    const found = yield* DaemonFile.find(stateDir)
    if (found._tag !== "Nobody" || (yield* DaemonLock.livingHolder(stateDir)) === undefined) return false
    // daemon.json is written as soon as the supervisor listens: one that has listened for longer has lost it
    return ((yield* SocketPath.age(stateDir)) ?? 0) < announcedMs
  })

interface Child {
  readonly pid: number | undefined
  readonly kill: (signal: NodeJS.Signals) => boolean
  /** Lets this process end while the child goes on. */
  readonly release: () => void
  readonly ended: Promise<Ended>
}

interface Ended {
  readonly code: number
  /** Why, if that is known. */
  readonly reason: string | undefined
}

const launch = (input: Input<typeof spec>, host: ReturnType<typeof hostOf>, log: string) =>
  Effect.try({
    try: (): Child => {
      const size = lstatSync(log, { throwIfNoEntry: false })?.size ?? 0
      if (size > maxLog) renameSync(log, `${log}.1`)
      const file = openOwnSync(log, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT)
      fchmodSync(file, 0o600)
      writeSync(file, `${begun} ${new Date().toISOString()}, release ${version}\n`)
      const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words(input, host)], {
        detached: true,
        windowsHide: true,
        cwd: host.cwd,
        // the daemon is no part of a server that this command was run by
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
        // the channel is read to its end before it is closed, which may be after the end of the process
        const closed = new Promise<void>((done) => child.once("disconnect", done))
        child.once("exit", (code, signal) =>
          closed.then(() =>
            resolve(code === null ? { code: 1, reason: `it was ended by ${signal}` } : { code, reason })
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

const words = (
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

/** The supervisor that another `start` has begun: it may hold the lock and not have published its address yet. */
const faster = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    for (let isOpen = true; isOpen; yield* Effect.sleep(lookEveryMs)) {
      isOpen = yield* isBeginning(host.stateDir)
      const found = yield* already(host)
      if (found !== undefined) return found
    }
    return undefined
  })

/** The supervisor once it answers, also one that another `start` has begun. Fails with the reason if there is none. */
const ready = (child: Child, host: ReturnType<typeof hostOf>, log: string) => {
  const look = Effect.gen(function* () {
    while (true) {
      const found = yield* discover(host)
      if ("daemon" in found && found.daemon.pid === child.pid) {
        const health = Effect.scoped(Effect.flatMap(connect(found.daemon, host), (client) => client.system.health({})))
        if ((yield* Effect.either(health))._tag === "Right") return found.daemon
      }
      yield* Effect.sleep(lookEveryMs)
    }
  })
  const ended = Effect.promise(() => child.ended)
  return Effect.gen(function* () {
    const first = yield* Effect.raceFirst(look, ended).pipe(
      Effect.timeoutFail({
        duration: readyMs,
        onTimeout: () => new CommandFailed({ message: `it is not ready after ${readyMs / 1000} s; see ${log}` })
      })
    )
    if (!("code" in first)) return first
    const other = yield* faster(host).pipe(
      // it may not answer yet
      Effect.retry({
        while: (error) => !(error instanceof AlreadyRunning),
        schedule: Schedule.spaced(lookEveryMs)
      }),
      Effect.timeoutOption(fasterMs)
    )
    if (Option.isSome(other) && other.value !== undefined) return other.value
    const { code, reason = `it ended with code ${first.code}; see ${log}` } = first
    return yield* new CommandFailed({ message: reason, code: code === 2 ? 2 : 1 })
  })
}
