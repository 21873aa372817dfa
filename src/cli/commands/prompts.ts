import { offered } from "../offered.js"
import { promptTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "prompts",
  summary: "List the prompts of one server or of all servers",
  group: "look",
  arguments: { server: argument("optional", "server", "List only the prompts of this server") },
  options: {},
  examples: ["prompts", "prompts docs --json"]
})

export const run = (input: Input<typeof spec>) =>
  offered(input, { noun: "prompts", of: ({ prompts }) => prompts, table: promptTable })
