import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { afterEdit, editOptions } from "../editing.js"
import { argument, command, type Input } from "../spec.js"
import { ifRunning } from "../withSupervisor.js"

export const spec = command({
  name: "enable",
  summary: "Switch a server on in the config file",
  group: "configure",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["enable github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const edited = yield* ConfigFiles.enable(input.name, editOptions(input))
    yield* afterEdit(input, edited, `enabled ${input.name} in ${edited.file}`)
    // what a command switched off stays off through every change of the files
    yield* Effect.ignore(
      ifRunning(input, (reach) =>
        Effect.flatMap(reach.server(input.name), ({ status }) =>
          status.status === "disabled" && status.by === "command" ? reach.connect(input.name) : Effect.void
        )
      )
    )
  })
