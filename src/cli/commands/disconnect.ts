import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { argument, command, type Input } from "../spec.js"
import { withRunning } from "../withSupervisor.js"

export const spec = command({
  name: "disconnect",
  summary: "Disconnect a server until connect or restart",
  details:
    "Requires a running supervisor. The config file is not changed; to disable a server permanently, use disable.",
  group: "steer",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["disconnect github"]
})

export const run = (input: Input<typeof spec>) =>
  withRunning(input, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* screen.busy(`disconnecting ${input.name}`, reach.disconnect(input.name))
      const { status } = yield* reach.server(input.name)
      yield* input.json ? screen.json({ [input.name]: status }) : screen.out(`${input.name}: ${status.status}`)
    })
  )
