import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { explanationLines, problemLines } from "../show/config.js"
import { reviewedLines } from "../show/trust.js"
import { command, type Input } from "../spec.js"
import { directoryNote } from "../workspaceNote.js"

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
    const loaded = yield* ConfigFiles.load(host)
    if (input.json) yield* screen.json(explanation)
    else {
      for (const line of explanationLines(explanation, loaded.layers, screen.style)) yield* screen.out(line)
      // the values above hide what may be a secret: to decide, it has to be seen
      const reviewed = yield* Effect.option(ConfigFiles.review({ ...host, files: [] }))
      const files = Option.match(reviewed, { onNone: () => [], onSome: ({ review }) => review.files })
      const waiting = files
        .map((file) => ({ ...file, entries: file.entries.filter(({ change }) => change !== "unchanged") }))
        .filter(({ entries }) => entries.length > 0)
      if (waiting.length > 0) yield* screen.out(`\n${screen.style.bold("not approved yet")}`)
      for (const file of waiting) for (const line of reviewedLines(file, screen.style)) yield* screen.out(line)
      const note = directoryNote(loaded.workspace)
      if (note !== undefined) yield* screen.note(note)
    }
    for (const line of problemLines(loaded, screen.noteStyle)) yield* screen.note(line)
  })
