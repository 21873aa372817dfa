import { serverCommand } from "./serverCommand.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "connect",
  summary: "Connect a server now, even if it is disabled",
  details: "Requires a running supervisor. The exit code is 3 if the server does not become usable.",
  group: "control",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["connect github"]
})

export const run = (input: Input<typeof spec>) => serverCommand(input, "connecting", (handle) => handle.connect)
