import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { isUsable, statusLine } from "../show/servers.js"
import { argument, command, type Input } from "../spec.js"
import { withRunning } from "../withSupervisor.js"
import * as Clock from "effect/Clock"

export const spec = command({
  name: "connect",
  summary: "Connect a server now, also one that was switched off",
  details: "Acts on the running supervisor. The exit code is 3 if the server does not become usable.",
  group: "steer",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["connect github"]
})

export const run = (input: Input<typeof spec>) =>
  withRunning(input, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const status = yield* screen.busy(`connecting ${input.name}`, reach.connect(input.name))
      const code = isUsable(status) ? 0 : 3
      if (input.json) return yield* Effect.as(screen.json({ [input.name]: status }), code)
      const snapshot = yield* reach.server(input.name)
      yield* screen.out(statusLine({ ...snapshot, status }, yield* Clock.currentTimeMillis))
      return code
    })
  )
