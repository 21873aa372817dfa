/**
 * Runs every client scenario of the official conformance suite that a revision scores through a supervisor, with logins where
 * they are required; and the logins of the suite's last stable release.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isTimed, passes, requiredBy } from "../support/conformanceSuite.js"

const client = "./conformanceSupervisor.ts"

/** The number of scored scenarios of each revision. */
const scored = { "2025-11-25": 18, "2026-07-28": 32 } as const

// each uses most of a core while it starts
const turns = Effect.unsafeMakeSemaphore(2)

const patience = 240_000

for (const [revision, count] of Object.entries(scored)) {
  const scenarios = requiredBy(revision)

  describe(`a supervisor passes what ${revision} requires`, () => {
    it(`has ${count} scenarios`, () => assert.strictEqual(scenarios.length, count))

    // scenarios that measure time are in alone/conformance
    describe.concurrent("at any speed", () => {
      for (const scenario of scenarios.filter((scenario) => !isTimed(scenario))) {
        const run = passes({ suite: "conformance", scenario, revision, client })
        it.scopedLive(scenario, () => turns.withPermits(1)(run), patience)
      }
    })
  })
}

/** But for two: one where the suite's own server breaks RFC 8414, and one for an extension that we do not have. */
const stable = [
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/2025-03-26-oauth-endpoint-fallback",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic"
]

describe.concurrent("a supervisor passes the logins of suite 0.1.16", () => {
  for (const scenario of stable) {
    const run = passes({ suite: "conformance-0.1", scenario, client })
    it.scopedLive(scenario, () => turns.withPermits(1)(run), patience)
  }
})
