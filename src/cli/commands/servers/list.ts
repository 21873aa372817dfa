import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Screen } from "../../terminal/Screen.js"
import { serverTable, statusesOf } from "../../show/showServers.js"
import { command, type Input } from "../../words/spec.js"
import { noteDirectory } from "../../supervisor/workspaceNote.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "list",
  summary: "List the servers and their status",
  details:
    "Without a running supervisor, the command connects every server once and waits at most ten seconds. A server that has not settled by then is listed as connecting.",
  group: "inspect",
  arguments: {},
  options: {},
  examples: ["list", "list --json | jq 'map_values(.status)'"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, {}, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const snapshots = yield* screen.busy("connecting", handle.servers)
      if (input.json) return yield* screen.json(statusesOf(snapshots))
      if (snapshots.length === 0) return yield* screen.note(noServers)
      const now = yield* Clock.currentTimeMillis
      for (const line of serverTable(snapshots, { style: screen.style, width: screen.width(), now }))
        yield* screen.out(line)
      yield* noteDirectory(input, handle)
    })
  )

export const noServers = `no servers are configured
to add one: mcp-supervisor add NAME -- command args…
to import those of another client: mcp-supervisor import claude-code`
