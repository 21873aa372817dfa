import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Context from "effect/Context"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { ServerEvent } from "../../../domain/server/ServerEvent.js"
import * as Environment from "../../../system/environment.js"
import * as DaemonLock from "../../../daemon/DaemonLock.js"
import { demoServers, demoTour } from "./demoServers.js"
import { noteRunningServers } from "../../supervisor/shutdownNotice.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { programName } from "../../words/programName.js"
import { Screen } from "../../terminal/Screen.js"
import { command, flag, type Input, text, whole } from "../../words/spec.js"
import { watch } from "../../terminal/watch.js"

export const spec = command({
  name: "serve",
  summary: "Run a supervisor with the control API in the foreground",
  details: `Runs until it is interrupted. The first interrupt shuts down all servers in order; the second kills the remaining processes. The supervisor also shuts down if its state directory is removed. To listen on an address that is not loopback (--host), set your own token in ${Environment.variables.token}.`,
  group: "run",
  arguments: {},
  options: {
    port: whole("PORT", "The port to listen on; 0 selects a free port. Default 7444", 65_535),
    host: text("HOST", "The address to listen on. Default 127.0.0.1"),
    demo: flag("Add the example servers and print commands to try")
  },
  examples: ["serve", "serve --demo", "serve --port 0 --json"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { cwd, files, stateDir } = hostOf(input)
    // the API and the supervisor take long to load, so only this command loads them
    const Control = yield* Effect.promise(() => import("../../../Control.js"))
    const { McpSupervisor } = yield* Effect.promise(() => import("../../../McpSupervisor.js"))
    const servers = input.demo ? yield* demoServers : undefined
    const ownToken = Environment.read(process.env, "token")
    const token = ownToken === undefined ? undefined : Redacted.make(ownToken)
    // accepts an IPv6 address in brackets, as in a URL
    const listenOn = input.host?.replace(/^\[(.*)\]$/, "$1")
    const options = { cwd, files, stateDir, servers, port: input.port, host: listenOn, token }
    const context = yield* screen.busy("starting", Layer.build(Control.layer(options)))
    const { address, socket } = Context.get(context, Control.ControlServer.ControlServer)
    const supervisor = Context.get(context, McpSupervisor)

    yield* noteRunningServers(supervisor.changes)
    if (input.json) yield* screen.out(JSON.stringify({ address, socket, pid: process.pid, stateDir }))
    else if (screen.width() === undefined) yield* screen.out(address)
    if (input.demo) yield* screen.note(demoTour(programName(), screen.noteStyle).join("\n"))
    const header = [
      { text: `mcp-supervisor at ${address}, process ${process.pid}. Ctrl-C stops it.`, paint: screen.style.bold },
      { text: "" }
    ]
    // with --json, only the address is data; changes are printed as notes
    const asNotes = input.json || screen.width() === undefined
    const news = newsOf(supervisor.eventsFrom(1))
    const removed = Effect.zipRight(
      DaemonLock.removed(stateDir),
      new CommandFailed({ message: removedMessage(stateDir) })
    )
    yield* Effect.raceFirst(watch(supervisor.changes, { json: false, header, asNotes, news }), removed)
  }).pipe(Effect.scoped)

const removedMessage = (stateDir: string): string =>
  `${stateDir} was removed, so commands cannot find this supervisor any more: it shuts down; start another`

/** Errors in config files, each rejected config, and the first valid config after a rejected one. */
const newsOf = (events: Stream.Stream<ServerEvent>): Stream.Stream<ServerEvent> => {
  let isRejected = false
  return Stream.filter(events, (event) => {
    if (event.type === "Diagnostic") return event.diagnostic.severity === "error"
    if (event.type !== "ConfigRejected" && event.type !== "ConfigApplied") return false
    const wasRejected = isRejected
    isRejected = event.type === "ConfigRejected"
    return isRejected || wasRejected
  })
}
