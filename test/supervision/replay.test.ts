import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import type { CallOptions } from "../../src/supervision/model.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  citySchema,
  closed,
  failsWith,
  failureOf,
  isOver,
  local,
  notFound,
  passed,
  remote,
  resultOf,
  settle,
  supervise,
  textOf,
  withRandom
} from "./support.js"

const tool = (annotations?: Protocol.ToolAnnotations) => ({ name: "x", ...(annotations && { annotations }) })

/** A call that is pending when its server dies. The next connection answers it if it is repeated. */
const callThatLosesItsServer = (annotations?: Protocol.ToolAnnotations, options?: CallOptions) =>
  Effect.gen(function* () {
    const tools = [tool(annotations)]
    const harness = yield* supervise(
      { servers: { a: local } },
      {
        scripts: {
          a: [
            FakeConnector.open({ tools, calls: { x: Effect.never } }),
            FakeConnector.open({ tools, calls: { x: FakeConnector.text("second") } })
          ]
        }
      }
    )
    const call = yield* Effect.fork(harness.supervisor.callTool("a_x", {}, options))
    yield* harness.controls.awaitCall("a")
    yield* Effect.flatMap(harness.controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
    return { ...harness, call }
  })

describe("a call whose server dies", () => {
  it.scoped("settles at once as OutcomeUnknown, was executed once, and the next call succeeds", () =>
    Effect.gen(function* () {
      const { call, count, supervisor } = yield* callThatLosesItsServer()
      const error = failureOf(yield* resultOf(call), "OutcomeUnknown")
      assert.strictEqual(error.cause._tag, "ConnectionClosed")
      assert.strictEqual(yield* count("a#2 called tools/call x"), 0)
      assert.strictEqual(textOf(yield* supervisor.callTool("a_x")), "second")
    })
  )

  const safe: ReadonlyArray<Protocol.ToolAnnotations> = [
    { readOnlyHint: true },
    { idempotentHint: true },
    { readOnlyHint: true, destructiveHint: false }
  ]
  for (const annotations of safe) {
    it.scoped(`is repeated once for ${JSON.stringify(annotations)}`, () =>
      Effect.gen(function* () {
        const { call, count } = yield* callThatLosesItsServer(annotations)
        assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "second")
        assert.strictEqual(yield* count("a#2 called tools/call x"), 1)
      })
    )
  }

  const unsafe: ReadonlyArray<Protocol.ToolAnnotations> = [
    {},
    { readOnlyHint: false },
    { idempotentHint: true, destructiveHint: true },
    { readOnlyHint: true, destructiveHint: true },
    { title: "X" }
  ]
  for (const annotations of unsafe) {
    it.scoped(`is not repeated for ${JSON.stringify(annotations)}`, () =>
      Effect.gen(function* () {
        const { call, count } = yield* callThatLosesItsServer(annotations)
        failureOf(yield* resultOf(call), "OutcomeUnknown")
        assert.strictEqual(yield* count("a#2 called tools/call x"), 0)
      })
    )
  }

  it.scoped("is not repeated if the caller disabled that", () =>
    Effect.gen(function* () {
      const { call, count } = yield* callThatLosesItsServer({ readOnlyHint: true }, { replay: "never" })
      failureOf(yield* resultOf(call), "OutcomeUnknown")
      assert.strictEqual(yield* count("a#2 called tools/call x"), 0)
    })
  )

  it.scoped("is repeated only once", () =>
    Effect.gen(function* () {
      const hanging = FakeConnector.open({ tools: [tool({ readOnlyHint: true })], calls: { x: Effect.never } })
      const { controls, count, supervisor } = yield* supervise({ servers: { a: remote } }, { scripts: { a: hanging } })
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      for (const number of [1, 2]) {
        yield* controls.awaitCall("a")
        yield* Effect.flatMap(controls.awaitAttempt("a", number), (attempt) => attempt.crash(closed()))
      }
      failureOf(yield* resultOf(call), "OutcomeUnknown")
      yield* passed("1 minute")
      assert.strictEqual(yield* count("a#3 called tools/call x"), 0)
    }).pipe(withRandom(0))
  )

  it.scoped("is repeated only within its total timeout", () =>
    Effect.gen(function* () {
      const hanging = FakeConnector.open({ tools: [tool({ readOnlyHint: true })], calls: { x: Effect.never } })
      const { controls, supervisor } = yield* supervise({ servers: { a: remote } }, { scripts: { a: hanging } })
      const options = { totalTimeout: "10 seconds", idleTimeout: "1 hour" } as const
      const call = yield* Effect.fork(supervisor.callTool("a_x", {}, options))
      yield* controls.awaitCall("a")
      yield* passed("8 seconds")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* controls.awaitCall("a")
      yield* passed("1999 millis")
      assert.isFalse(yield* isOver(call))
      yield* passed("1 millis")
      failureOf(yield* resultOf(call), "CallTimeout")
    })
  )

  it.scoped("fails as OutcomeUnknown if it is safe but the server does not come back", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: {
            a: [
              FakeConnector.open({ tools: [tool({ readOnlyHint: true })], calls: { x: Effect.never } }),
              FakeConnector.fail(notFound())
            ]
          }
        }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* controls.awaitCall("a")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      failureOf(yield* resultOf(call), "OutcomeUnknown")
    })
  )

  it.scoped("fails as sent if its timeout expires while it waits for the repetition", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: {
            a: [
              FakeConnector.open({ tools: [tool({ readOnlyHint: true })], calls: { x: Effect.never } }),
              FakeConnector.hang
            ]
          }
        }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x", {}, { totalTimeout: "5 seconds" }))
      yield* controls.awaitCall("a")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* passed("5 seconds")
      const exit = yield* resultOf(call)
      const error = exit._tag === "Failure" && exit.cause._tag === "Fail" ? exit.cause.error : undefined
      // the first try was sent and may have been executed: the error must say so
      assert.isTrue(
        error?._tag === "OutcomeUnknown" || (error?._tag === "CallTimeout" && error.sent),
        JSON.stringify(error)
      )
    })
  )

  it.scoped("checks whether the server is back within its total timeout only", () =>
    Effect.gen(function* () {
      const lost = new Errors.OutcomeUnknown({ server: "a", cause: closed() })
      const { supervisor } = yield* supervise(
        { servers: { a: remote } },
        {
          scripts: {
            a: FakeConnector.open({
              tools: [tool({ readOnlyHint: true })],
              calls: { x: Effect.delay(Effect.fail(lost), "900 millis") },
              probe: Effect.never
            })
          }
        }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x", {}, { totalTimeout: "1 second" }))
      yield* passed("1 second")
      failureOf(yield* resultOf(call), "OutcomeUnknown")
    })
  )

  it.scoped("does not affect calls to other servers", () =>
    Effect.gen(function* () {
      const open = FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } })
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local, b: local } },
        { scripts: { a: open, b: open } }
      )
      const mine = yield* Effect.fork(supervisor.callTool("a_x"))
      const others = yield* Effect.fork(supervisor.callTool("b_x"))
      const pending = yield* controls.awaitCall("b")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      failureOf(yield* resultOf(mine), "OutcomeUnknown")
      assert.isFalse(yield* isOver(others))
      yield* pending.answer(FakeConnector.text("fine"))
      assert.strictEqual(textOf(yield* others), "fine")
    })
  )

  it.scoped("is repeated if it is a read or a completion", () =>
    Effect.gen(function* () {
      const resources = ["file:///x"]
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: {
            a: [
              FakeConnector.open({ resources, reads: { "file:///x": Effect.never } }),
              FakeConnector.open({ resources })
            ]
          }
        }
      )
      const read = yield* Effect.fork(supervisor.readResource("a", "file:///x"))
      yield* controls.awaitEntry((entry) => entry.type === "called")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      const result = yield* Effect.flatten(resultOf(read))
      assert.strictEqual(result.contents[0]?.uri, "file:///x")
    })
  )
})

describe("a call that was not sent", () => {
  const notSent = new Errors.NotSent({ server: "a", reason: "the pipe is closed" })

  /** A server whose first connection rejects calls. */
  const refusing = supervise(
    { servers: { a: local } },
    {
      scripts: {
        a: [
          FakeConnector.open({ tools: ["x"], calls: { x: Effect.fail(notSent) } }),
          FakeConnector.open({ tools: ["x"] })
        ]
      }
    }
  )

  it.scoped("is repeated on the next connection, whatever its annotations", () =>
    Effect.gen(function* () {
      const { controls, count, supervisor } = yield* refusing
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "x")
      assert.strictEqual(yield* count("a#2 called tools/call x"), 1)
    })
  )

  it.scoped("is not repeated if the server rejected it and stays connected", () =>
    Effect.gen(function* () {
      const { count, supervisor } = yield* refusing
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("50 millis")
      failureOf(yield* resultOf(call), "NotSent")
      assert.strictEqual(yield* count("a#1 called tools/call x"), 1)
    })
  )

  it.scoped("is not repeated if the caller disabled that", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* refusing
      const call = yield* Effect.fork(supervisor.callTool("a_x", {}, { replay: "never" }))
      failureOf(yield* resultOf(call), "NotSent")
    })
  )

  it.scoped("shares one new connection with nine others after a lost session, and succeeds", () =>
    Effect.gen(function* () {
      const { controls, count, supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      // the calls arrive before the loss is noticed
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) =>
        attempt.crash(new Errors.SessionLost({ server: "a" }))
      )
      const calls = yield* Effect.forEach(Array.from({ length: 10 }), () => Effect.fork(supervisor.callTool("a_x")))
      yield* settle
      for (const call of calls) assert.strictEqual(textOf(yield* Effect.flatten(resultOf(call))), "x")
      assert.strictEqual(yield* count("a#2 opening"), 1)
      assert.strictEqual(yield* count("a#3 opening"), 0)
    })
  )
})

describe("a tool handle from before a restart", () => {
  it.scoped("works after the restart", () =>
    Effect.gen(function* () {
      const { count, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const [handle] = (yield* supervisor.catalog).tools
      yield* supervisor.restart("a")
      yield* supervisor.callTool(handle!.name)
      assert.strictEqual(yield* count("a#2 called tools/call x"), 1)
    })
  )

  it.scoped("of a removed tool fails with the current catalog", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [FakeConnector.open({ tools: ["x"] }), FakeConnector.open({ tools: ["y"] })] } }
      )
      const before = (yield* supervisor.catalog).revision
      yield* supervisor.restart("a")
      const error = yield* failsWith(supervisor.callTool("a_x"), "ToolNotFound")
      assert.isAbove(error.revision!, before)
      assert.strictEqual(error.revision, (yield* supervisor.catalog).revision)
    })
  )

  it.scoped("checks a call that waited against the current tool", () =>
    Effect.gen(function* () {
      const { controls, count, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: { a: [FakeConnector.open({ tools: ["x", "gone"] }), FakeConnector.byHand] }
        }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      const changed = yield* Effect.fork(supervisor.callTool("a_x", { city: 7 }))
      const gone = yield* Effect.fork(supervisor.callTool("a_gone"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) =>
        attempt.open({ tools: [{ name: "x", inputSchema: citySchema }] })
      )
      failureOf(yield* resultOf(changed), "InvalidArguments")
      const error = failureOf(yield* resultOf(gone), "ToolNotFound")
      assert.strictEqual(error.revision, (yield* supervisor.catalog).revision)
      assert.strictEqual(yield* count("a#2 called tools/call x"), 0)
    })
  )

  it.scoped("does not repeat a call whose arguments became invalid, and fails it as OutcomeUnknown", () =>
    Effect.gen(function* () {
      const { controls, count, supervisor } = yield* supervise(
        { servers: { a: local } },
        {
          scripts: {
            a: [
              FakeConnector.open({ tools: [tool({ readOnlyHint: true })], calls: { x: Effect.never } }),
              FakeConnector.open({ tools: [{ name: "x", inputSchema: citySchema }] })
            ]
          }
        }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* controls.awaitCall("a")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      failureOf(yield* resultOf(call), "OutcomeUnknown")
      assert.strictEqual(yield* count("a#2 called tools/call x"), 0)
    })
  )
})
