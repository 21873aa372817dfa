import * as Effect from "effect/Effect"
import { command, type Input } from "../spec.js"

export const spec = command({
  name: "stop",
  summary: "stop",
  group: "run",
  arguments: {},
  options: {},
  examples: ["stop"]
})
export const run = (_input: Input<typeof spec>) => Effect.void
