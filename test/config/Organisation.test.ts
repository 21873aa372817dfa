import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { repeatedly } from "../../src/config/layers/Organisation.js"

describe("the document of an organisation", () => {
  it.effect("is fetched every hour, and a minute after a failure", () =>
    Effect.gen(function* () {
      const outcomes = [true, false, false, true, true]
      let attempts = 0
      const attempt = Effect.sync(() => outcomes[attempts++] ?? false)
      yield* Effect.fork(repeatedly(attempt))
      const seen: Array<number> = []
      for (const pause of ["0 millis", "60 minutes", "1 minute", "2 minutes", "60 minutes"] as const) {
        yield* TestClock.adjust(pause)
        seen.push(attempts)
      }
      assert.deepStrictEqual(seen, [1, 2, 3, 4, 5])
    })
  )
})
