import * as Effect from "effect/Effect"
import { command, type Input } from "../spec.js"

export const spec = command({
  name: "serve",
  summary: "serve",
  group: "run",
  arguments: {},
  options: {},
  examples: ["serve"]
})
export const run = (_input: Input<typeof spec>) => Effect.void
