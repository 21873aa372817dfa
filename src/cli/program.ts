/**
 * Holds the table of all commands that need Effect, runs one of them, and returns its exit code.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Environment from "../system/environment.js"
import * as FairScheduler from "../system/FairScheduler.js"
import { describe, exitCodeOf } from "./failure.js"
import { hostOf } from "./supervisor/commandHost.js"
import * as StartReport from "./commands/daemon/startReport.js"
import * as Screen from "./terminal/Screen.js"
import { onSignals } from "./signals.js"
import type { ParsedInput } from "./words/parseWords.js"
import type { Input } from "./words/spec.js"
import type { CommandName, SpecOf } from "./words/specs.js"
import * as StateDirectory from "../system/files/stateDirectory.js"

/** Commands that need Effect. `completions` is part of the front. */
export type ProgramCommand = Exclude<CommandName, "completions">

/**
 * The modules of all commands. A missing command does not compile, nor does an implementation that reads an option or an
 * argument that its spec does not have.
 */
export type Implementations = {
  readonly [Name in ProgramCommand]: () => Promise<{
    readonly run: (input: Input<SpecOf<Name>>) => Effect.Effect<number | void, unknown, Screen.Screen>
  }>
}

/** Each module is loaded when its command runs. */
const commands: Implementations = {
  add: () => import("./commands/config/add.js"),
  auth: () => import("./commands/login/auth.js"),
  call: () => import("./commands/catalog/call.js"),
  config: () => import("./commands/config/config.js"),
  connect: () => import("./commands/servers/connect.js"),
  debug: () => import("./commands/login/debug.js"),
  disable: () => import("./commands/config/disable.js"),
  disconnect: () => import("./commands/servers/disconnect.js"),
  enable: () => import("./commands/config/enable.js"),
  events: () => import("./commands/daemon/events.js"),
  import: () => import("./commands/config/import.js"),
  list: () => import("./commands/servers/list.js"),
  logout: () => import("./commands/login/logout.js"),
  logs: () => import("./commands/servers/logs.js"),
  prompt: () => import("./commands/catalog/prompt.js"),
  prompts: () => import("./commands/catalog/prompts.js"),
  read: () => import("./commands/catalog/read.js"),
  reload: () => import("./commands/daemon/reload.js"),
  remove: () => import("./commands/config/remove.js"),
  resources: () => import("./commands/catalog/resources.js"),
  restart: () => import("./commands/servers/restart.js"),
  serve: () => import("./commands/daemon/serve.js"),
  start: () => import("./commands/daemon/start.js"),
  status: () => import("./commands/servers/status.js"),
  stop: () => import("./commands/daemon/stop.js"),
  test: () => import("./commands/login/test.js"),
  tools: () => import("./commands/catalog/tools.js"),
  trust: () => import("./commands/config/trust.js")
}

/** Runs one command and returns the exit code of the process. */
export const run = async (name: ProgramCommand, input: ParsedInput): Promise<number> => {
  const command = await commands[name]()
  const program = Effect.gen(function* () {
    const screen = yield* Screen.make(process)
    const outcome = yield* checkStateDir(input).pipe(
      // The parser has built the input from the spec of this command.
      Effect.zipRight(command.run(input as never)),
      Effect.provideService(Screen.Screen, screen),
      Effect.catchAll((error) =>
        Effect.as(
          Effect.zipRight(
            screen.note(`${screen.noteStyle.bad("error:")} ${describe(error)}`),
            StartReport.send(describe(error))
          ),
          exitCodeOf(error)
        )
      ),
      Effect.catchAllDefect((defect) =>
        Effect.as(screen.note(`unexpected failure, please report it: ${String(defect)}`), 1)
      ),
      // The reader of stdout is gone, so the rest of the command has no effect.
      Effect.raceFirst(Effect.as(screen.gone, 0))
    )
    return outcome ?? 0
  }).pipe(Effect.provide(log()))
  // With this scheduler, signals are handled in time even if thousands of servers keep the process busy.
  const fiber = Effect.runFork(program, { scheduler: FairScheduler.make() })
  const signals = onSignals(fiber)
  const exit = await Effect.runPromise(Fiber.await(fiber))
  signals.end()
  if (signals.code() !== undefined) return signals.code()!
  return Exit.match(exit, {
    onSuccess: (code) => code,
    onFailure: (cause) => {
      if (!Cause.isInterruptedOnly(cause))
        process.stderr.write(`${Option.getOrElse(Cause.dieOption(cause), () => "failed")}\n`)
      return 1
    }
  })
}

/** Checks the state directory first, because its contents decide which programs may run. */
const checkStateDir = (input: ParsedInput) => Effect.suspend(() => StateDirectory.check(hostOf(input).stateDir))

/** Logs errors only, unless `MCP_SUPERVISOR_LOG` sets another level. */
const log = () => {
  const name = Environment.read(process.env, "log")?.toLowerCase()
  const level = LogLevel.allLevels.find(({ _tag }) => _tag.toLowerCase() === name) ?? LogLevel.Error
  return Logger.minimumLogLevel(level)
}
