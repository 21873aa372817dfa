import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
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

  it.live("returns a result at once in an uninterruptible region, and ends there when the budget is used up", () =>
    Effect.gen(function* () {
      const read = timeoutWhileRunning("1 minute")(Effect.promise(() => readFile(fileURLToPath(import.meta.url))))
      assert.isTrue(Option.isSome(yield* Effect.uninterruptible(read)))
      const never = timeoutWhileRunning("50 millis")(Effect.never)
      assert.isTrue(Option.isNone(yield* Effect.uninterruptible(never)))
    })
  )

  it.live("is not ended by an interrupt of an uninterruptible caller", () =>
    Effect.gen(function* () {
      const read = timeoutWhileRunning("1 minute")(Effect.promise(() => readFile(fileURLToPath(import.meta.url))))
      const outcome = yield* Deferred.make<Option.Option<unknown>>()
      const fiber = yield* Effect.fork(Effect.uninterruptible(Deferred.complete(outcome, read)))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Option.isSome(yield* Deferred.await(outcome)))
    })
  )

  it.live("interrupts the effect when its caller is interrupted", () =>
    Effect.gen(function* () {
      const [started, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const effect = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.fork(
        timeoutWhileRunning("1 minute")(Effect.onInterrupt(effect, () => Deferred.succeed(ended, undefined)))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(ended)
    })
  )

  it.effect("returns the error of the effect", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(timeoutWhileRunning("1 second")(Effect.fail("error"))), "error")
    })
  )
})
