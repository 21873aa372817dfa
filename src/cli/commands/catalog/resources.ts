import { catalogCommand } from "./catalogCommand.js"
import { resourceTable } from "../../show/showCatalog.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "resources",
  summary: "List the resources of one server or of all servers",
  details: "The list includes resource templates. With --json, a template has uriTemplate instead of uri.",
  group: "inspect",
  arguments: { server: argument("optional", "server", "List only the resources of this server") },
  options: {},
  examples: ["resources", "resources docs --json"]
})

export const run = (input: Input<typeof spec>) =>
  catalogCommand(input, {
    noun: "resources",
    select: ({ resources, resourceTemplates }) => [...resources, ...resourceTemplates],
    table: resourceTable
  })
