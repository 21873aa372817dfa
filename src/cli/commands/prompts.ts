import { offered } from "../offered.js"
import { promptTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "prompts",
  summary: "The prompts there are, of one server or all",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the prompts of this one") },
  options: {},
  examples: ["prompts", "prompts docs --json"]
})

export const run = (input: Input<typeof spec>) =>
  offered(input, { noun: "prompts", of: ({ prompts }) => prompts, table: promptTable })
