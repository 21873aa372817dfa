import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { isUsable } from "../../../domain/server/ServerStatus.js"
import { Screen } from "../../terminal/Screen.js"
import { serverCard, serverTable, statusesOf } from "../../show/showServers.js"
import { argument, command, flag, type Input } from "../../words/spec.js"
import { noteDirectory } from "../../supervisor/workspaceNote.js"
import { supervisorEnded, withSupervisor } from "../../supervisor/withSupervisor.js"
import { noServers } from "./list.js"
import { watch } from "../../terminal/watch.js"

export const spec = command({
  name: "status",
  summary: "Show one server in detail, or the status of all servers",
  details: "With a name, the exit code is 0 if the server is usable and 3 if it is not.",
  group: "inspect",
  arguments: { name: argument("optional", "name", "The server") },
  options: { watch: flag("Keep the output up to date until interrupted or until the supervisor ends") },
  examples: ["status", "status github", "status --watch"]
})

export const run = (input: Input<typeof spec>) => {
  const { json, name } = input
  return withSupervisor(input, { only: name === undefined ? undefined : [name] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      if (input.watch) {
        if (name !== undefined) yield* handle.server(name)
        yield* watch(handle.changes, { name, json })
        return yield* screen.note(supervisorEnded)
      }
      const snapshots = yield* screen.busy(
        "connecting",
        name === undefined ? handle.servers : Effect.map(handle.server(name), (each) => [each])
      )
      const [only] = snapshots
      const code = name !== undefined && only !== undefined && !isUsable(only.status) ? 3 : 0
      if (json) return yield* Effect.as(screen.json(statusesOf(snapshots)), code)
      if (only === undefined) return yield* screen.note(noServers)
      const now = yield* Clock.currentTimeMillis
      const options = { style: screen.style, width: screen.width(), now }
      const lines = name === undefined ? serverTable(snapshots, options) : serverCard(only, options)
      for (const line of lines) yield* screen.out(line)
      yield* noteDirectory(input, handle, name)
      return code
    })
  )
}
