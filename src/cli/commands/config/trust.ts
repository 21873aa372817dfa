import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../../config/ConfigFiles.js"
import { ask } from "../../terminal/ask.js"
import { CommandFailed, WrongUsage } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import { hasChanges, reviewLines } from "../../show/showTrust.js"
import { argument, command, flag, type Input } from "../../words/spec.js"
import { ifRunning } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "trust",
  summary: "Approve the servers of the project files and the project's directory",
  details:
    "Shows what would be approved and what changed since the last approval, then asks for approval. Without an approval, the servers of a project are neither started nor contacted. The approval of an entry is valid until the entry or its working directory changes. Your own servers without `cwd` run in the project's directory if it is trusted, otherwise in your home directory. With a file, only that file is approved, not the directory.",
  group: "configure",
  arguments: {
    file: argument(
      "optional",
      "file",
      "Approve only this file. Default: all project files, and the project's directory"
    )
  },
  options: {
    yes: flag("Approve without asking; required without a terminal"),
    revoke: flag("Revoke the same approvals instead")
  },
  examples: ["trust", "trust --yes", "trust --revoke", "trust mcp-supervisor.json --revoke"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const options = { ...hostOf(input), files: [], file: input.file }
    if (input.revoke) {
      const revoked = yield* ConfigFiles.distrust(options)
      if (input.json) yield* screen.json({ revoked })
      else for (const path of revoked) yield* screen.out(`revoked the approval of ${path}`)
    } else yield* approve(input, options)
    yield* Effect.ignore(ifRunning(input, (handle) => handle.reload))
  })

const approve = (input: Input<typeof spec>, options: ConfigFiles.TrustOptions) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { approve, review } = yield* ConfigFiles.review(options)
    const needsAnswer = hasChanges(review) && !input.yes
    // A question is asked only after its subject was shown, also with --json.
    if (needsAnswer || !input.json) for (const line of reviewLines(review, screen.noteStyle)) yield* screen.note(line)
    if (needsAnswer) {
      if (!screen.canAsk) {
        return yield* new WrongUsage({
          message:
            "nothing was approved because there is no terminal for the question; to approve this, repeat the command with --yes"
        })
      }
      const answer = yield* ask({ text: "Approve? y/N", preset: "" })
      if (!/^y(?:es)?$/i.test(answer)) return yield* new CommandFailed({ message: "nothing was approved" })
    }
    yield* approve
    if (input.json) return yield* screen.json(review)
    for (const { file, servers } of review.files)
      yield* screen.out(`approved ${file}: ${servers.join(", ") || "no servers"}`)
    if (review.directory !== undefined) yield* screen.out(`approved the directory ${review.directory.path}`)
    else if (review.files.length === 0) yield* screen.note("nothing to approve: your home directory needs no approval")
  })
