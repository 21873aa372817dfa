import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { explanationLines } from "../show/config.js"
import { command, type Input } from "../spec.js"

export const spec = command({
  name: "config",
  summary: "The effective configuration, and where each value comes from",
  details: "Secrets are hidden. Files that came with a project and are no use are named on stderr.",
  group: "configure",
  arguments: {},
  options: {},
  examples: ["config", "config --json"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const explanation = yield* ConfigFiles.explain(host)
    const { diagnostics, layers, problems } = yield* ConfigFiles.load(host)
    if (input.json) yield* screen.json(explanation)
    else for (const line of explanationLines(explanation, layers, screen.style)) yield* screen.out(line)
    for (const { message } of problems) yield* screen.note(screen.noteStyle.bad(message))
    for (const { file, line, message, severity } of diagnostics) {
      const place = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `
      yield* screen.note(`${severity}: ${place}${message}`)
    }
  })
