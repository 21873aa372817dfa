import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import { Screen } from "../../terminal/Screen.js"
import { logLine } from "../../show/showEvents.js"
import { argument, command, flag, type Input } from "../../words/spec.js"
import { supervisorEnded, withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "logs",
  summary: "Show the log of a server",
  details:
    "The log contains lines that the server wrote to stderr, lines on stdout that are not MCP messages, and MCP log messages.",
  group: "inspect",
  arguments: { name: argument("required", "name", "The server") },
  options: { follow: flag("Keep printing new lines until interrupted or until the server is removed", "f") },
  examples: ["logs github", "logs github -f"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, { only: [input.name] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* Stream.runForEach(handle.logs(input.name, input.follow), (line) =>
        input.json ? screen.out(JSON.stringify(line)) : screen.out(logLine(line, screen.style))
      )
      if (!input.follow) return
      const now = yield* Effect.either(handle.server(input.name))
      const isUnreachable = Either.isLeft(now) && now.left._tag !== "ServerNotFound"
      const removed = `${input.name} was ${Either.isRight(now) ? "replaced by another server of this name" : "removed"}`
      yield* screen.note(isUnreachable ? supervisorEnded : removed)
    })
  )
