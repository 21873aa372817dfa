import * as Effect from "effect/Effect"
import { hostOf } from "../../supervisor/commandHost.js"
import { findServer, probe } from "./probe.js"
import { Screen } from "../../terminal/Screen.js"
import { stepLine } from "../../show/showSteps.js"
import { argument, command, type Input } from "../../words/spec.js"
import { oneLine } from "../../terminal/table.js"

export const spec = command({
  name: "test",
  summary: "Connect to a server once and report each step",
  details:
    "Opens a connection of its own, even if the server is connected or disabled, and reports spawn, handshake, era, capabilities, lists and ping. The exit code is 0 only if the server is usable.",
  group: "inspect",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["test github", "test github --json"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const server = yield* findServer(input.name, host)
    const onStep = input.json
      ? () => Effect.void
      : (step: Parameters<typeof stepLine>[0]) => screen.out(stepLine(step, screen.style))
    const report = yield* screen.busy(`testing ${input.name}`, probe(server, host.stateDir, onStep))
    if (input.json) yield* screen.json(report)
    else yield* screen.out(screen.style.bold(oneLine(report.advice)))
    return report.usable ? 0 : 3
  })
