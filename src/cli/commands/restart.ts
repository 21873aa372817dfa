import { moving } from "../moving.js"
import { argument, command, type Input } from "../spec.js"

export const spec = command({
  name: "restart",
  summary: "End a server's connection and make a new one",
  details:
    "Acts on the running supervisor. All config files are read again first. The exit code is 3 if the server does not become usable.",
  group: "steer",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["restart github"]
})

export const run = (input: Input<typeof spec>) => moving(input, "restarting", (reach) => reach.restart)
