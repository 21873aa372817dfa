import { spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { AlreadyRunning } from "../../control/Daemon.js"
import { connect, type Daemon, locate } from "../../locate.js"
import { codeOf } from "../../system/wholeFile.js"
import { CommandFailed } from "../failure.js"
import { hostOf } from "../host.js"
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
const lookEveryMs = 50
const maxLog = 10 * 1024 * 1024

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const before = yield* locate(host)
    if (before._tag === "Running") {
      yield* screen.note(`it is running already (process ${before.daemon.pid})`)
      return yield* announce(input, before.daemon)
    }
    if (before._tag === "OtherFiles") {
      const { address, pid } = before.daemon
      return yield* new AlreadyRunning({ stateDir: host.stateDir, pid, address })
    }
    const log = join(host.stateDir, "supervisor.log")
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
    yield* screen.note(`supervising in the background (process ${daemon.pid}), log in ${log}`)
    return yield* announce(input, daemon)
  })

const announce = (input: Input<typeof spec>, daemon: Daemon) =>
  Effect.flatMap(Screen, (screen) => {
    const { address, pid, socket } = daemon
    const { stateDir } = hostOf(input)
    return input.json ? screen.out(JSON.stringify({ address, socket, pid, stateDir })) : screen.out(address)
  })

interface Child {
  readonly pid: number | undefined
  readonly kill: (signal: NodeJS.Signals) => boolean
  readonly unref: () => void
  /** With what it ended, and what it said. */
  readonly ended: Promise<{ readonly code: number; readonly said: string }>
}

const launch = (input: Input<typeof spec>, host: ReturnType<typeof hostOf>, log: string) =>
  Effect.try({
    try: (): Child => {
      mkdirSync(host.stateDir, { recursive: true, mode: 0o700 })
      const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
      if (size > maxLog) renameSync(log, `${log}.1`)
      const file = openSync(log, "a", 0o600)
      const from = statSync(log).size
      const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words(input, host)], {
        detached: true,
        windowsHide: true,
        cwd: host.cwd,
        stdio: ["ignore", file, file]
      })
      closeSync(file)
      const said = () => readFileSync(log).subarray(from).toString("utf8").trim()
      const ended = new Promise<{ readonly code: number; readonly said: string }>((resolve) => {
        child.once("error", (error) => resolve({ code: 1, said: error.message }))
        child.once("exit", (code) => resolve({ code: code ?? 1, said: said() }))
      })
      return { pid: child.pid, kill: (signal) => child.kill(signal), unref: () => child.unref(), ended }
    },
    catch: (error) =>
      new CommandFailed({ message: `${host.stateDir} cannot be used: ${codeOf(error)}; choose another --state-dir` })
  })

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

/** The supervisor once it answers; fails with what it said if it ends before. */
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
  const ended = Effect.flatMap(
    Effect.promise(() => child.ended),
    ({ code, said }) => {
      const message = said.replace(/^error: /, "") || `it ended with code ${code}`
      return Effect.fail(new CommandFailed({ message, code: code === 2 ? 2 : 1 }))
    }
  )
  return Effect.raceFirst(look, ended)
}
