import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { argument, command, type Input } from "../spec.js"
import { withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "logout",
  summary: "Delete the stored login of a server",
  group: "log in",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["logout github"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, { only: [] }, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* reach.server(input.name)
      yield* reach.logout(input.name)
      yield* input.json
        ? screen.json({ server: input.name, login: "not_authenticated" })
        : screen.out(`forgot everything that was kept for ${input.name}`)
    })
  )
