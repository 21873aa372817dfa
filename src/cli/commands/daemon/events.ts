import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Screen } from "../../terminal/Screen.js"
import { eventLine } from "../../show/showEvents.js"
import { command, flag, type Input } from "../../words/spec.js"
import { supervisorEnded, withSupervisor } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "events",
  summary: "Show what happened to the servers",
  details: "With --json, each event is one JSON object on one line.",
  group: "inspect",
  arguments: {},
  options: { follow: flag("Keep printing new events until interrupted or until the supervisor ends", "f") },
  examples: ["events", "events -f --json"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, {}, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* Stream.runForEach(handle.events({ follow: input.follow, replay: true }), (event) =>
        input.json ? screen.out(JSON.stringify(event)) : screen.out(eventLine(event, screen.style))
      )
      if (input.follow) yield* screen.note(supervisorEnded)
    })
  )
