import * as Effect from "effect/Effect"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import { WrongUsage } from "../failure.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { argument, command, flag, type Input } from "../spec.js"
import { ifRunning } from "../withSupervisor.js"

export const spec = command({
  name: "trust",
  summary: "Approve of the servers that the project's files declare",
  details:
    "Servers of a project neither run nor are dialled before. It holds for each of them until its entry changes.",
  group: "configure",
  arguments: { file: argument("optional", "file", "Only this file; else all of the project") },
  options: { revoke: flag("Take the approval of that file back") },
  examples: ["trust", "trust mcp-supervisor.json --revoke"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    if (input.revoke) {
      if (input.file === undefined) return yield* new WrongUsage({ message: "--revoke needs a file" })
      yield* ConfigFiles.distrust({ ...host, files: [], file: input.file })
      yield* input.json ? screen.json({ revoked: input.file }) : screen.out(`took back the approval of ${input.file}`)
    } else {
      const trusted = yield* ConfigFiles.trust({ ...host, files: [], file: input.file })
      if (input.json) yield* screen.json(trusted)
      else if (trusted.length === 0) yield* screen.note("there is no project file here to approve of")
      else
        for (const { file, servers } of trusted)
          yield* screen.out(`approved of ${file}: ${servers.join(", ") || "no servers"}`)
    }
    yield* Effect.ignore(ifRunning(input, (reach) => reach.reload))
  })
