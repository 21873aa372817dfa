import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import { explanationLines, problemLines } from "../../show/showConfig.js"
import { command, type Input } from "../../words/spec.js"
import { nameList } from "../../words/nameList.js"
import { directoryNote } from "../../supervisor/workspaceNote.js"

export const spec = command({
  name: "config",
  summary: "Show the effective configuration and the source of each value",
  details: "Secrets are hidden. Project files that cannot be read are reported on stderr.",
  group: "configure",
  arguments: {},
  options: {},
  examples: ["config", "config --json"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const loaded = yield* ConfigFiles.loadOnce(host)
    const explanation = yield* ConfigFiles.explain(host)
    if (input.json) yield* screen.json(explanation)
    else {
      for (const line of explanationLines(explanation, loaded.layers, screen.style)) yield* screen.out(line)
      const unapproved = loaded.layers.flatMap(({ untrusted }) => untrusted)
      if (unapproved.length > 0)
        yield* screen.note(
          `not approved: ${nameList([...new Set(unapproved)])}; to review and approve: mcp-supervisor trust`
        )
      const note = directoryNote(loaded.workspace)
      if (note !== undefined) yield* screen.note(note)
    }
    for (const line of problemLines(loaded, screen.noteStyle)) yield* screen.note(line)
  })
