import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { ask } from "../../terminal/ask.js"
import { afterEdit, editOptions } from "./editOptions.js"
import { CommandFailed, notApproved } from "../../failure.js"
import { Screen } from "../../terminal/Screen.js"
import { reviewLines } from "../../show/showTrust.js"
import { argument, command, type Input } from "../../words/spec.js"
import { ifRunning } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "enable",
  summary: "Enable a server in its config file",
  details:
    "If a project file declares the server and the entry is not approved, the command shows the entry and asks for approval. Without a terminal, the command fails with exit code 3; approve the server with mcp-supervisor trust first.",
  group: "configure",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["enable github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    yield* requireApproval(input)
    const edited = yield* ConfigFiles.enable(input.name, editOptions(input))
    yield* afterEdit(input, edited, `enabled ${input.name} in ${edited.file}`)
    // A server that was disconnected by a command stays disconnected when its config changes.
    yield* Effect.ignore(
      ifRunning(input, (handle) =>
        Effect.flatMap(handle.server(input.name), ({ status }) =>
          status.status === "disabled" && status.by === "command" ? handle.connect(input.name) : Effect.void
        )
      )
    )
  })

/** Asks for the approval of the server if it is missing. Fails without an approval. */
const requireApproval = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const pending = yield* ConfigFiles.reviewServer(input.name, editOptions(input))
    if (pending === undefined) return
    const screen = yield* Screen
    if (!screen.canAsk || input.json) return yield* notApproved(input.name)
    for (const line of reviewLines(pending.review, screen.noteStyle)) yield* screen.note(line)
    const answer = yield* ask({ text: "Approve and enable? y/N", preset: "" })
    if (!/^y(?:es)?$/i.test(answer)) return yield* new CommandFailed({ message: "nothing was changed" })
    yield* pending.approve
  })
