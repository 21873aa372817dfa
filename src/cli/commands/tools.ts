import { offered } from "../offered.js"
import { toolTable } from "../show/catalog.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "tools",
  summary: "List the tools of one server or of all servers",
  group: "look",
  arguments: { server: argument("optional", "server", "List only the tools of this server") },
  options: {},
  examples: ["tools", "tools github --json"]
})

export const run = (input: Input<typeof spec>) =>
  offered(input, { noun: "tools", of: ({ tools }) => tools, table: toolTable })
