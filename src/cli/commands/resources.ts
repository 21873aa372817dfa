import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { resourceTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"
import { withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "resources",
  summary: "The resources there are, of one server or all",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the resources of this one") },
  options: {},
  examples: ["resources", "resources docs --json"]
})

export const run = (input: Input<typeof spec>) => {
  const { server } = input
  return withSupervisor(input, { only: server === undefined ? undefined : [server] }, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      if (server !== undefined) yield* screen.busy("connecting", reach.server(server))
      const catalog = yield* screen.busy("connecting", reach.catalog)
      const isWanted = (each: { readonly server: string }) => server === undefined || each.server === server
      const resources = catalog.resources.filter(isWanted)
      const templates = catalog.resourceTemplates.filter(isWanted)
      if (input.json) return yield* screen.json(resources)
      if (resources.length + templates.length === 0) return yield* screen.note("no resources")
      const options = { style: screen.style, width: screen.width() }
      yield* screen.out(resourceTable(resources, templates, options).join("\n"))
    })
  )
}
