import * as Effect from "effect/Effect"
import { Screen } from "../Screen.js"
import { planLines } from "../show/events.js"
import { command, type Input } from "../spec.js"
import { withRunning } from "../withSupervisor.js"

export const spec = command({
  name: "reload",
  summary: "Reload the config files and print what changes",
  details:
    "Requires a running supervisor. The supervisor applies changes of its config files automatically; this command waits until they are applied.",
  group: "steer",
  arguments: {},
  options: {},
  examples: ["reload"]
})

export const run = (input: Input<typeof spec>) =>
  withRunning(input, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const plan = yield* screen.busy("reloading", reach.reload)
      if (input.json) return yield* screen.json(plan)
      yield* screen.out(planLines(plan, screen.style).join("\n"))
    })
  )
