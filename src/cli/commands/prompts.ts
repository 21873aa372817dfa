import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { promptTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"
import { withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "prompts",
  summary: "The prompts there are, of one server or all",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the prompts of this one") },
  options: {},
  examples: ["prompts", "prompts docs --json"]
})

export const run = (input: Input<typeof spec>) => {
  const { server } = input
  return withSupervisor(input, { only: server === undefined ? undefined : [server] }, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      if (server !== undefined) yield* screen.busy("connecting", reach.server(server))
      const catalog = yield* screen.busy("connecting", reach.catalog)
      const prompts = catalog.prompts.filter((each) => server === undefined || each.server === server)
      if (input.json) return yield* screen.json(prompts)
      if (prompts.length === 0) return yield* screen.note("no prompts")
      yield* screen.out(promptTable(prompts, { style: screen.style, width: screen.width() }).join("\n"))
    })
  )
}
