import * as Effect from "effect/Effect"
import { Screen } from "../../terminal/Screen.js"
import { argument, command, type Input } from "../../words/spec.js"
import { withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "read",
  summary: "Read a resource",
  group: "use",
  arguments: {
    server: argument("required", "server", "The server that provides the resource"),
    uri: argument("required", "uri", "The URI of the resource, as listed by resources")
  },
  options: {},
  examples: ["read docs file:///README.md"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, { only: [input.server] }, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const result = yield* screen.busy(`reading from ${input.server}`, handle.read(input.server, input.uri))
      if (input.json) return yield* screen.json(result)
      for (const each of result.contents) {
        if ("text" in each && typeof each.text === "string") yield* screen.out(each.text)
        else
          yield* screen.note(`${each.uri} is not text (${each.mimeType ?? "unknown type"}); to print its bytes: --json`)
      }
    })
  )
