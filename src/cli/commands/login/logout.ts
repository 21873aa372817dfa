import * as Effect from "effect/Effect"
import { Screen } from "../../terminal/Screen.js"
import { argument, command, type Input } from "../../words/spec.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "logout",
  summary: "Delete the stored login of a server",
  group: "log in",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["logout github"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, { only: [] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* handle.server(input.name)
      yield* handle.logout(input.name)
      yield* input.json
        ? screen.json({ server: input.name, login: "not_authenticated" })
        : screen.out(`deleted the login of ${input.name}`)
    })
  )
