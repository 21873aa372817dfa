import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import * as Screen from "../../src/cli/terminal/Screen.js"

/** Creates a screen that records what it writes to stdout and stderr. */
const onTerminal = (isTTY: boolean) =>
  Effect.gen(function* () {
    const stream = () => Object.assign(new PassThrough(), { isTTY })
    const [stdin, stdout, stderr] = [stream(), stream(), stream()]
    const screen = yield* Screen.make({ stdin, stdout, stderr, env: {} } as never)
    const readFrom = (from: PassThrough) => String(from.read() ?? "")
    return { screen, written: () => readFrom(stdout), drawn: () => readFrom(stderr) }
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

describe("what is written to a terminal", () => {
  const text = "git\u202ebuh\u200b \u001b[2J\u{e0041}"

  it.effect("shows hidden characters as code points: in text, JSON and notes", () =>
    Effect.gen(function* () {
      const { drawn, screen, written } = yield* onTerminal(true)
      yield* screen.out(text)
      assert.strictEqual(written(), "git<U+202E>buh<U+200B> \ufffd[2J<U+E0041>\n")
      yield* screen.note(text)
      assert.strictEqual(drawn(), "git<U+202E>buh<U+200B> \ufffd[2J<U+E0041>\n")
      yield* screen.json({ text })
      const json = written()
      assert.deepStrictEqual(JSON.parse(json), { text })
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(json, /[\u0000-\u0009\u001b\u200b\u202e\u{e0041}]/u)
    })
  )

  it.effect("is unchanged for other readers, except for notes", () =>
    Effect.gen(function* () {
      const { drawn, screen, written } = yield* onTerminal(false)
      yield* screen.out(text)
      yield* screen.note(text)
      assert.deepStrictEqual([written(), drawn()], [`${text}\n`, "git<U+202E>buh<U+200B> \ufffd[2J<U+E0041>\n"])
    })
  )
})
