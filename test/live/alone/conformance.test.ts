/**
 * The client scenarios of the official conformance suite that measure time.
 */
import { assert, describe, it } from "@effect/vitest"
import { isTimed, passes, requiredBy } from "../support/conformanceSuite.js"

const patience = 120_000

describe("in the time the conformance suite allows", () => {
  it.scopedLive(
    "a session comes back",
    () => passes({ suite: "conformance", scenario: "sse-retry", client: "./conformanceClient.ts" }),
    patience
  )

  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const timed = requiredBy(revision).filter(isTimed)

    it(`${revision} requires what is known to be timed`, () =>
      assert.deepStrictEqual(timed, revision === "2025-11-25" ? ["sse-retry"] : []))

    for (const scenario of timed) {
      it.scopedLive(
        `a supervisor comes back (${revision})`,
        () => passes({ suite: "conformance", scenario, revision, client: "./conformanceSupervisor.ts" }),
        patience
      )
    }
  }
})
