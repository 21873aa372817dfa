import * as Effect from "effect/Effect"
import { command, type Input } from "../spec.js"

export const spec = command({
  name: "start",
  summary: "start",
  group: "run",
  arguments: {},
  options: {},
  examples: ["start"]
})
export const run = (_input: Input<typeof spec>) => Effect.void
