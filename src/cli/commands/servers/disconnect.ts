import * as Effect from "effect/Effect"
import { Screen } from "../../terminal/Screen.js"
import { argument, command, type Input } from "../../words/spec.js"
import { withRunning } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "disconnect",
  summary: "Disconnect a server until connect or restart",
  details:
    "Requires a running supervisor. The config file is not changed; to disable a server permanently, use disable.",
  group: "control",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["disconnect github"]
})

export const run = (input: Input<typeof spec>) =>
  withRunning(input, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* screen.busy(`disconnecting ${input.name}`, handle.disconnect(input.name))
      const { status } = yield* handle.server(input.name)
      yield* input.json ? screen.json({ [input.name]: status }) : screen.out(`${input.name}: ${status.status}`)
    })
  )
