import { offered } from "../offered.js"
import { resourceTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "resources",
  summary: "The resources there are, of one server or all",
  details: "Templates are among them; with --json, they have a uriTemplate instead of a uri.",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the resources of this one") },
  options: {},
  examples: ["resources", "resources docs --json"]
})

export const run = (input: Input<typeof spec>) =>
  offered(input, {
    noun: "resources",
    of: ({ resources, resourceTemplates }) => [...resources, ...resourceTemplates],
    table: resourceTable
  })
