import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { editOptions } from "../editing.js"
import { CommandFailed } from "../failure.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { argument, command, flag, type Input, text } from "../spec.js"
import { ifRunning } from "../withSupervisor.js"

/** Kept here in full, so that help needs nothing else; a test compares it with what can be imported. */
export const clients = [
  "opencode",
  "claude-desktop",
  "claude-code",
  "cursor",
  "vscode",
  "windsurf",
  "gemini",
  "codex"
] as const

export const spec = command({
  name: "import",
  summary: "Take over the servers of another client",
  details:
    "Finds its files, turns its servers into entries of ours and writes those that are not there yet. The files of the client are never touched.",
  group: "configure",
  arguments: { client: argument("required", "client", "Whose servers", clients) },
  options: {
    dryRun: flag("Only say what would be done"),
    scope: text("SCOPE", "Which file they are written to", ["project", "global"])
  },
  examples: ["import claude-code", "import cursor --dry-run"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const client = clients.find((each) => each === input.client)!
    const found = yield* ConfigFiles.importFrom(client, hostOf(input))
    const scope = input.scope === "project" || input.scope === "global" ? input.scope : undefined
    const added: Array<{ readonly name: string; readonly file?: string }> = []
    const failed: Array<string> = []
    for (const [name, entry] of Object.entries(found.add)) {
      if (input.dryRun) added.push({ name })
      else {
        yield* ConfigFiles.add(name, entry, { ...editOptions(input), scope }).pipe(
          Effect.matchEffect({
            onFailure: (error) => Effect.sync(() => void failed.push(`${name}: ${error.message}`)),
            onSuccess: ({ file }) => Effect.sync(() => void added.push({ name, file }))
          })
        )
      }
    }
    const { diagnostics, files, problems, skip } = found
    if (input.json)
      yield* screen.json({ client, files, added, skip, failed, problems: problems.map((each) => each.message) })
    else {
      const verb = input.dryRun ? "would add" : "added"
      for (const { file, name } of added) yield* screen.out(`${verb} ${name}${file === undefined ? "" : ` to ${file}`}`)
    }
    for (const [name, why] of Object.entries(skip)) yield* screen.note(`skipped ${name}: ${why}`)
    for (const { message } of diagnostics) yield* screen.note(message)
    for (const { message } of problems) yield* screen.note(screen.noteStyle.bad(message))
    if (files.length === 0) return yield* new CommandFailed({ message: `no config file of ${client} was found` })
    if (added.length === 0 && !input.json) yield* screen.note("nothing to add")
    if (!input.dryRun) yield* Effect.ignore(ifRunning(input, (reach) => reach.reload))
    if (failed.length > 0) return yield* new CommandFailed({ message: failed.join("\n") })
  })
