/**
 * The client scenarios of the official conformance suite that measure time.
 */
import { assert, describe, it } from "@effect/vitest"
import { isTimed, passes, requiredBy } from "../support/conformanceSuite.js"

const patience = 240_000

describe("within the time that the conformance suite allows", () => {
  it.scopedLive(
    "a session reconnects",
    () => passes({ suite: "conformance", scenario: "sse-retry", client: "./conformanceClient.ts" }),
    patience
  )

  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const timed = requiredBy(revision).filter(isTimed)

    it(`${revision} requires exactly the known timed scenarios`, () =>
      assert.deepStrictEqual(timed, revision === "2025-11-25" ? ["sse-retry"] : []))

    for (const scenario of timed) {
      it.scopedLive(
        `a supervisor reconnects (${revision})`,
        () => passes({ suite: "conformance", scenario, revision, client: "./conformanceSupervisor.ts" }),
        patience
      )
    }
  }
})
