import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { afterEdit, editOptions } from "./editOptions.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "remove",
  summary: "Remove a server from its config file",
  group: "configure",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["remove github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.flatMap(ConfigFiles.remove(input.name, editOptions(input)), (edited) =>
    afterEdit(input, edited, `removed ${input.name} from ${edited.file}`)
  )
