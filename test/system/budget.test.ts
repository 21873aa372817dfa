import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { timeoutWhileRunning } from "../../src/system/budget.js"

const block = (millis: number) => {
  const end = performance.now() + millis
  while (performance.now() < end);
}

describe("a timeout that counts only time in which the process runs", () => {
  it.live("returns a result that arrived while the process did not run for longer than the budget", () =>
    Effect.gen(function* () {
      // started before the pause, as a file that is read while a long text is parsed
      const read = Effect.promise(() => readFile(fileURLToPath(import.meta.url), "utf8"))
      const pause = Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => block(600))
      )
      const [text] = yield* Effect.all([timeoutWhileRunning("300 millis")(read), pause], { concurrency: "unbounded" })
      assert.isTrue(Option.isSome(text))
    })
  )

  it.live("ends when the budget is used up, although the effect ignores interrupts", () =>
    Effect.gen(function* () {
      const deaf = Effect.uninterruptible(Effect.never)
      assert.isTrue(Option.isNone(yield* timeoutWhileRunning("50 millis")(deaf)))
    })
  )

  it.effect("returns the error of the effect", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(timeoutWhileRunning("1 second")(Effect.fail("error"))), "error")
    })
  )
})
