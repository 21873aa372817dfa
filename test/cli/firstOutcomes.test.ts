import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as FirstOutcomes from "../../src/cli/supervisor/firstOutcomes.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { notFound, passed, refused, remote, settle, supervise } from "../supervision/support.js"

describe("the first outcomes of servers that a command starts", () => {
  it.scoped("are shown ten seconds later at the latest, and what is still connecting is said to be so", () =>
    Effect.gen(function* () {
      const hanging = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`h${index}`, remote]))
      const { supervisor } = yield* supervise(
        { servers: { a: remote, ...hanging } },
        { scripts: { a: FakeConnector.open() } }
      )
      const notes: Array<string> = []
      const { all } = FirstOutcomes.make(supervisor, (line) => Effect.sync(() => void notes.push(line)))
      const waiting = yield* Effect.fork(all)
      yield* passed("9 seconds")
      assert.strictEqual((yield* Fiber.poll(waiting))._tag, "None")
      yield* passed("1 seconds")
      const shown = yield* Fiber.join(waiting)
      assert.deepStrictEqual(
        shown.map(({ status }) => status.status),
        ["connected", ...Object.keys(hanging).map(() => "connecting")]
      )
      assert.deepStrictEqual(notes, [
        "h0, h1, h2, h3, h4 and 2 more are still connecting after 10 s; the list shows their current status"
      ])
    })
  )

  it.scoped("are those of the first attempts, also for a required server that is retried", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: { ...remote, required: true }, b: remote } },
        { scripts: { a: [FakeConnector.fail(refused()), FakeConnector.fail(refused()), FakeConnector.byHand] } }
      )
      const notes: Array<string> = []
      const outcomes = FirstOutcomes.make(supervisor, (line) => Effect.sync(() => void notes.push(line)))
      assert.strictEqual((yield* outcomes.one("a")).status.status, "failed")
      const all = yield* Effect.fork(outcomes.all)
      yield* passed("2 seconds")
      assert.strictEqual((yield* supervisor.server("a")).status.status, "connecting")
      yield* Effect.flatMap(controls.awaitAttempt("b"), (attempt) => attempt.fail(notFound("b")))
      yield* settle
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(
        (yield* Fiber.join(all)).map(({ status }) => status.status),
        ["failed", "failed"]
      )
      assert.deepStrictEqual(notes, [])
    })
  )

  it.scoped("are awaited at most ten seconds to find a tool by its public name", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: remote, b: remote } },
        { scripts: { a: FakeConnector.open() } }
      )
      const notes: Array<string> = []
      const { tools } = FirstOutcomes.make(supervisor, (line) => Effect.sync(() => void notes.push(line)))
      const waiting = yield* Effect.fork(tools)
      yield* passed("9 seconds")
      assert.strictEqual((yield* Fiber.poll(waiting))._tag, "None")
      yield* passed("1 seconds")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(notes, [
        "b is still connecting after 10 s; to wait for a server, call its tool as SERVER/TOOL"
      ])
    })
  )

  it.scoped("fail for an unknown server", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: {} })
      const { one } = FirstOutcomes.make(supervisor, () => Effect.void)
      assert.strictEqual((yield* Effect.flip(one("a")))._tag, "ServerNotFound")
    })
  )
})
