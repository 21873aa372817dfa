import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Claim from "../../control/claim.js"
import { AlreadyRunning } from "../../control/Daemon.js"
import * as DaemonFile from "../../control/DaemonFile.js"
import { version } from "../../domain/version.js"
import { connect, type Daemon, locate } from "../../locate.js"
import { codeOf, makeDirectory } from "../../system/wholeFile.js"
import { CommandFailed } from "../failure.js"
import { hostOf } from "../host.js"
import { reached } from "../Running.js"
import { Screen } from "../Screen.js"
import { command, flag, type Input, text, whole } from "../spec.js"

export const spec = command({
  name: "start",
  summary: "Supervise in the background",
  details: "The same as serve, with a log file in the state directory. Returns when the supervisor can be asked.",
  group: "run",
  arguments: {},
  options: {
    port: whole("PORT", "Where to listen; 0 is any free port. Default 7444", 65_535),
    host: text("HOST", "On which address. Default 127.0.0.1"),
    demo: flag("Add the example servers")
  },
  examples: ["start", "start --port 0 --json"]
})

const readyMs = 30_000
const fasterMs = 10_000
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
    const daemon = yield* screen.busy("starting", ready(child, host)).pipe(
      Effect.timeoutFail({
        duration: readyMs,
        onTimeout: () => new CommandFailed({ message: `it is not ready after ${readyMs / 1000} s; see ${log}` })
      }),
      // what does not begin as it should must not go on unseen
      Effect.onError(() => Effect.sync(() => child.kill("SIGTERM")))
    )
    child.unref()
    if (daemon.pid !== child.pid) return yield* announceAgain(input, daemon)
    yield* screen.note(`supervising in the background (process ${daemon.pid}), log in ${log}`)
    return yield* announce(input, daemon)
  })

/** Who supervises there for the same config files; fails if it is for others, or does not answer. Who ends is waited for. */
const already = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    let found = yield* locate(host)
    for (; found._tag === "Ending"; found = yield* locate(host)) yield* Effect.sleep(lookEveryMs)
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
    return found._tag === "Nobody" && (yield* Claim.livingHolder(stateDir)) !== undefined
  })

interface Child {
  readonly pid: number | undefined
  readonly kill: (signal: NodeJS.Signals) => boolean
  readonly unref: () => void
  readonly ended: Promise<Ended>
}

interface Ended {
  readonly code: number
  /** What it said, or what is to be said of it. */
  readonly said: string
}

const launch = (input: Input<typeof spec>, host: ReturnType<typeof hostOf>, log: string) =>
  Effect.try({
    try: (): Child => {
      const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
      if (size > maxLog) renameSync(log, `${log}.1`)
      const file = openSync(log, "a", 0o600)
      writeSync(file, `${begun} ${new Date().toISOString()}, release ${version}\n`)
      const from = statSync(log).size
      const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words(input, host)], {
        detached: true,
        windowsHide: true,
        cwd: host.cwd,
        stdio: ["ignore", file, file]
      })
      closeSync(file)
      const ended = new Promise<Ended>((resolve) => {
        child.once("error", (error) => resolve({ code: 1, said: error.message }))
        child.once("exit", (code, signal) =>
          resolve(code === null ? { code: 1, said: `it was ended by ${signal}` } : { code, said: wordsIn(log, from) })
        )
      })
      return { pid: child.pid, kill: (signal) => child.kill(signal), unref: () => child.unref(), ended }
    },
    catch: unusable(host.stateDir)
  })

/** What was written since, without what others have begun there. Whoever has taken the log away has taken the words. */
const wordsIn = (log: string, from: number): string => {
  try {
    const lines = readFileSync(log).subarray(from).toString("utf8").split("\n")
    return lines
      .filter((line) => !line.startsWith(begun))
      .join("\n")
      .trim()
  } catch {
    return ""
  }
}

const unusable = (stateDir: string) => (error: unknown) =>
  new CommandFailed({ message: `${stateDir} cannot be used: ${codeOf(error)}; choose another --state-dir` })

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

/** Somebody who was faster may have claimed the directory only, and say soon where it is. */
const faster = (host: ReturnType<typeof hostOf>) =>
  Effect.gen(function* () {
    for (let isOpen = true; isOpen; yield* Effect.sleep(lookEveryMs)) {
      isOpen = yield* isBeginning(host.stateDir)
      const found = yield* already(host)
      if (found !== undefined) return found
    }
    return undefined
  })

/** The supervisor once it answers, also that of somebody who was faster; fails with what it said if it ends before. */
const ready = (child: Child, host: ReturnType<typeof hostOf>) => {
  const look = Effect.gen(function* () {
    while (true) {
      const found = yield* locate(host)
      if ("daemon" in found && found.daemon.pid === child.pid) {
        const health = Effect.scoped(Effect.flatMap(connect(found.daemon, host), (client) => client.system.health({})))
        if ((yield* Effect.either(health))._tag === "Right") return found.daemon
      }
      yield* Effect.sleep(lookEveryMs)
    }
  })
  const ended = Effect.gen(function* () {
    const { code, said } = yield* Effect.promise(() => child.ended)
    const other = yield* Effect.timeoutOption(faster(host), fasterMs)
    if (Option.isSome(other) && other.value !== undefined) return other.value
    const message = said.replace(/^error: /, "") || `it ended with code ${code}`
    return yield* new CommandFailed({ message, code: code === 2 ? 2 : 1 })
  })
  return Effect.raceFirst(look, ended)
}
