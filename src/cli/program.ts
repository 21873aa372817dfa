/**
 * Everything that takes more than a look at the words: runs one command, and ends as it says.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as FairScheduler from "../system/FairScheduler.js"
import { describe, exitCodeOf } from "./failure.js"
import { hostOf } from "./supervisor/commandHost.js"
import * as StartReport from "./commands/daemon/startReport.js"
import * as Screen from "./terminal/Screen.js"
import { onSignals } from "./signals.js"
import type { Shared } from "./words/spec.js"
import * as StateDirectory from "../system/stateDirectory.js"

type Run = (input: never) => Effect.Effect<number | void, unknown, Screen.Screen>

/** Each is loaded when it is asked for. */
const commands: Readonly<Record<string, () => Promise<{ readonly run: Run }>>> = {
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

/** The exit code. */
export const run = async (name: string, input: Readonly<Record<string, unknown>>): Promise<number> => {
  const command = await commands[name]!()
  const program = Effect.gen(function* () {
    const screen = yield* Screen.make(process)
    const outcome = yield* checkStateDir(input).pipe(
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
      // nobody reads any more: what is left to say is said to nobody
      Effect.raceFirst(Effect.as(screen.gone, 0))
    )
    return outcome ?? 0
  }).pipe(Effect.provide(log()))
  // a signal is heard, whatever thousands of servers do
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

/** Before anything else: what the directory says decides which programs run. */
const checkStateDir = (input: Readonly<Record<string, unknown>>) =>
  Effect.suspend(() => StateDirectory.check(hostOf(input as unknown as Shared).stateDir))

/** Our own log is for those who look for a fault: errors only, unless `MCP_SUPERVISOR_LOG` asks for more. */
const log = () => {
  const wanted = process.env.MCP_SUPERVISOR_LOG?.toLowerCase()
  const level = LogLevel.allLevels.find(({ _tag }) => _tag.toLowerCase() === wanted) ?? LogLevel.Error
  return Logger.minimumLogLevel(level)
}
