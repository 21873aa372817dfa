import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import * as Screen from "../../src/cli/terminal/Screen.js"

/** Creates a screen that records what it writes to stderr. */
const onTerminal = (isTTY: boolean) =>
  Effect.gen(function* () {
    const stream = () => Object.assign(new PassThrough(), { isTTY })
    const [stdin, stdout, stderr] = [stream(), stream(), stream()]
    const screen = yield* Screen.make({ stdin, stdout, stderr, env: {} } as never)
    return { screen, drawn: () => String(stderr.read() ?? "") }
  })

describe("busy", () => {
  it.effect("shows its text after 300 ms, and removes it at the end", () =>
    Effect.gen(function* () {
      const { drawn, screen } = yield* onTerminal(true)
      const done = yield* Deferred.make<void>()
      const waiting = yield* Effect.fork(screen.busy("fetching", Deferred.await(done)))
      yield* TestClock.adjust(299)
      assert.strictEqual(drawn(), "")
      yield* TestClock.adjust(1)
      assert.include(drawn(), "fetching")
      yield* TestClock.adjust(3000)
      assert.include(drawn(), "fetching 3 s")
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(waiting)
      assert.strictEqual(drawn(), "\r\u001b[2K")
    })
  )

  it.effect("shows nothing if the effect ends within 300 ms", () =>
    Effect.gen(function* () {
      const { drawn, screen } = yield* onTerminal(true)
      const waiting = yield* Effect.fork(screen.busy("fetching", Effect.sleep(299)))
      yield* TestClock.adjust(299)
      yield* Fiber.join(waiting)
      assert.strictEqual(drawn(), "")
    })
  )

  it.effect("shows nothing if stderr is not a terminal", () =>
    Effect.gen(function* () {
      const { drawn, screen } = yield* onTerminal(false)
      const waiting = yield* Effect.fork(screen.busy("fetching", Effect.sleep(5000)))
      yield* TestClock.adjust(5000)
      yield* Fiber.join(waiting)
      assert.strictEqual(drawn(), "")
    })
  )
})
