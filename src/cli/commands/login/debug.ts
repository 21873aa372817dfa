import * as Effect from "effect/Effect"
import { layerFile } from "../../../auth/CredentialStore.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { loginSteps } from "./loginSteps.js"
import { findServer, probe, type ProbeStep } from "./probe.js"
import { Screen } from "../../terminal/Screen.js"
import { stepLine } from "../../show/showSteps.js"
import { argument, command, type Input } from "../../words/spec.js"
import { oneLine } from "../../terminal/table.js"

export const spec = command({
  name: "debug",
  summary: "Diagnose a failing login or connection step by step",
  details:
    "For a remote server, prints each URL of the OAuth discovery with its response, then registration, scopes and the stored token. Then connects once, like test. No token is printed.",
  group: "log in",
  arguments: { name: argument("required", "name", "The server") },
  options: {},
  examples: ["debug github"]
})

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const host = hostOf(input)
    const server = yield* findServer(input.name, host)
    const steps: Array<ProbeStep> = []
    const onStep = (step: ProbeStep) =>
      Effect.suspend(() => {
        steps.push(step)
        return input.json ? Effect.void : screen.out(stepLine(step, screen.style))
      })
    const { config } = server
    if (config._tag === "Remote") {
      yield* screen.busy(
        "checking the login",
        Effect.provide(loginSteps(input.name, config, onStep), layerFile(host.stateDir))
      )
    }
    const report = yield* screen.busy("connecting", probe(server, host.stateDir, onStep))
    if (input.json) yield* screen.json({ ...report, steps })
    else yield* screen.out(screen.style.bold(oneLine(report.advice)))
    return report.usable ? 0 : 3
  })
