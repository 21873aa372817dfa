/**
 * The client scenarios of the official conformance suite that need no login, with a session and nothing around it.
 */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { passes } from "../support/conformanceSuite.js"

const scenarios = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "request-metadata",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation"
]

// each takes the better part of a core while it starts
const turns = Effect.unsafeMakeSemaphore(2)

const patience = 240_000

describe.concurrent("the conformance suite passes", () => {
  for (const scenario of scenarios) {
    const run = passes({ suite: "conformance", scenario, client: "./conformanceClient.ts" })
    it.scopedLive(scenario, () => turns.withPermits(1)(run), patience)
  }
})
