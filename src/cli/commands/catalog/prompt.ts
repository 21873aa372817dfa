import * as Effect from "effect/Effect"
import { WrongUsage } from "../../failure.js"
import { pairs } from "../../words/pairs.js"
import { Screen } from "../../terminal/Screen.js"
import { promptText } from "../../show/showCatalog.js"
import { argument, command, type Input } from "../../words/spec.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

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
    if (given._tag === "NotAPair") {
      return yield* new WrongUsage({ message: `"${given.word}" is not an argument: write key=value` })
    }
    if (given._tag === "Duplicate") return yield* new WrongUsage({ message: `"${given.key}" is set twice` })
    const { values } = given
    return yield* withSupervisor(input, { only: [input.server] }, (handle) =>
      Effect.gen(function* () {
        const screen = yield* Screen
        const result = yield* screen.busy(
          `getting ${input.name} from ${input.server}`,
          handle.prompt(input.server, input.name, values)
        )
        yield* input.json ? screen.json(result) : screen.out(promptText(result))
      })
    )
  })
