import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { afterEdit, editOptions } from "./editOptions.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "disable",
  summary: "Disable a server in its config file",
  group: "configure",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["disable github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.flatMap(ConfigFiles.disable(input.name, editOptions(input)), (edited) =>
    afterEdit(input, edited, `disabled ${input.name} in ${edited.file}`)
  )
