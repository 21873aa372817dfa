import * as Effect from "effect/Effect"
import { Screen } from "../../terminal/Screen.js"
import { planLines } from "../../show/showEvents.js"
import { command, type Input } from "../../words/spec.js"
import { withRunning } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "reload",
  summary: "Reload the config files and print what changes",
  details:
    "Requires a running supervisor. The supervisor applies changes of its config files without this command; the command waits until they are applied.",
  group: "control",
  arguments: {},
  options: {},
  examples: ["reload"]
})

export const run = (input: Input<typeof spec>) =>
  withRunning(input, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const plan = yield* screen.busy("reloading", handle.reload)
      if (input.json) return yield* screen.json(plan)
      yield* screen.out(planLines(plan, screen.style).join("\n"))
    })
  )
