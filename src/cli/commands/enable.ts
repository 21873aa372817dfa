import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { afterEdit, editOptions } from "../editing.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "enable",
  summary: "Switch a server on in the config file",
  group: "configure",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["enable github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.flatMap(ConfigFiles.enable(input.name, editOptions(input)), (edited) =>
    afterEdit(input, edited, `enabled ${input.name} in ${edited.file}`)
  )
