import * as Effect from "effect/Effect"
import { WrongUsage } from "../failure.js"
import { pairs } from "../pairs.js"
import { Screen } from "../Screen.js"
import { promptText } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"
import { withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "prompt",
  summary: "Get a prompt with its arguments filled in",
  group: "use",
  arguments: {
    server: argument("required", "server", "The server that provides the prompt"),
    name: argument("required", "prompt", "The name of the prompt, as listed by prompts"),
    values: argument("many", "key=value", "The arguments of the prompt")
  },
  options: {},
  examples: ["prompt docs summarise topic=restarts length=short"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const given = pairs(input.values)
    if (given._tag === "NoPair") {
      return yield* new WrongUsage({ message: `"${given.word}" is no argument: write key=value` })
    }
    if (given._tag === "Twice") return yield* new WrongUsage({ message: `"${given.key}" is given twice` })
    const { values } = given
    return yield* withSupervisor(input, { only: [input.server] }, (reach) =>
      Effect.gen(function* () {
        const screen = yield* Screen
        const result = yield* screen.busy(`asking ${input.server}`, reach.prompt(input.server, input.name, values))
        yield* input.json ? screen.json(result) : screen.out(promptText(result))
      })
    )
  })
