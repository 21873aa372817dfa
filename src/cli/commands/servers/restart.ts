import { serverCommand } from "./serverCommand.js"
import { argument, command, type Input } from "../../words/spec.js"

export const spec = command({
  name: "restart",
  summary: "Close the connection of a server and open a new one",
  details:
    "Requires a running supervisor. The supervisor reloads all config files first. The exit code is 3 if the server does not become usable.",
  group: "control",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["restart github"]
})

export const run = (input: Input<typeof spec>) => serverCommand(input, "restarting", (handle) => handle.restart)
