import { offered } from "../offered.js"
import { toolTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "tools",
  summary: "The tools there are, of one server or all",
  group: "look",
  arguments: { server: argument("optional", "server", "Only the tools of this one") },
  options: {},
  examples: ["tools", "tools github --json"]
})

export const run = (input: Input<typeof spec>) =>
  offered(input, { noun: "tools", of: ({ tools }) => tools, table: toolTable })
