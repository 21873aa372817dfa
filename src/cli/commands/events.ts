import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Screen } from "../Screen.js"
import { eventLine } from "../show/events.js"
import { command, flag, type Input } from "../spec.js"
import { supervisorEnded, withSupervisor } from "../withSupervisor.js"

export const spec = command({
  name: "events",
  summary: "Show what happened to the servers",
  details: "With --json, prints one event per line.",
  group: "look",
  arguments: {},
  options: { follow: flag("Keep printing new events until interrupted or until the supervisor ends", "f") },
  examples: ["events", "events -f --json"]
})

export const run = (input: Input<typeof spec>) =>
  withSupervisor(input, {}, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* Stream.runForEach(reach.events({ follow: input.follow, replay: true }), (event) =>
        input.json ? screen.out(JSON.stringify(event)) : screen.out(eventLine(event, screen.style))
      )
      if (input.follow) yield* screen.note(supervisorEnded)
    })
  )
