import { catalogCommand } from "./catalogCommand.js"
import { promptTable } from "../../show/showCatalog.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "prompts",
  summary: "List the prompts of one server or of all servers",
  group: "inspect",
  arguments: { server: argument("optional", "server", "List only the prompts of this server") },
  options: {},
  examples: ["prompts", "prompts docs --json"]
})

export const run = (input: Input<typeof spec>) =>
  catalogCommand(input, { noun: "prompts", select: ({ prompts }) => prompts, table: promptTable })
