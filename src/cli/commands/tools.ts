import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { toolTable } from "../show/catalog.js"
import { isUsable } from "../show/servers.js"
import { argument, command, type Input } from "../spec.js"
import { withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "tools",
  summary: "The tools there are, of one server or all",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the tools of this one") },
  options: {},
  examples: ["tools", "tools github --json"]
})

export const run = (input: Input<typeof spec>) => {
  const { json, server } = input
  return withSupervisor(input, { only: server === undefined ? undefined : [server] }, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const named = server === undefined ? undefined : yield* screen.busy("connecting", reach.server(server))
      const { tools } = yield* screen.busy("connecting", reach.catalog)
      const chosen = server === undefined ? tools : tools.filter((tool) => tool.server === server)
      const code = named !== undefined && chosen.length === 0 && !isUsable(named.status) ? 3 : 0
      if (code !== 0) yield* screen.note(`${server} is not usable: mcp-supervisor status ${server} says why`)
      if (json) return yield* Effect.as(screen.json(chosen), code)
      if (chosen.length === 0 && code === 0) yield* screen.note("no tools")
      if (chosen.length > 0)
        yield* screen.out(toolTable(chosen, { style: screen.style, width: screen.width() }).join("\n"))
      return code
    })
  )
}
