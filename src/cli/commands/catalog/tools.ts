import { catalogCommand } from "./catalogCommand.js"
import { toolTable } from "../../show/showCatalog.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "tools",
  summary: "List the tools of one server or of all servers",
  group: "inspect",
  arguments: { server: argument("optional", "server", "List only the tools of this server") },
  options: {},
  examples: ["tools", "tools github --json"]
})

export const run = (input: Input<typeof spec>) =>
  catalogCommand(input, { noun: "tools", select: ({ tools }) => tools, table: toolTable })
