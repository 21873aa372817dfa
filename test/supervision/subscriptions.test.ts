import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type { ResourceUpdated } from "../../src/supervision/model.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, failsWith, failureOf, isOver, local, passed, resultOf, settle, supervise } from "./support.js"

const uri = "file:///x"
const open = FakeConnector.open({ resources: [uri] })

/** A supervisor with one server, and a reader of its resource. */
const listening = (script: FakeConnector.Script = open) =>
  Effect.gen(function* () {
    const harness = yield* supervise({ servers: { a: local } }, { scripts: { a: script } })
    const listen = Effect.gen(function* () {
      const heard: Array<ResourceUpdated> = []
      const fiber = yield* Effect.fork(
        Stream.runForEach(harness.supervisor.subscribeResource("a", uri), (update) =>
          Effect.sync(() => heard.push(update))
        )
      )
      yield* settle
      return { heard, fiber }
    })
    const update = (number?: number) =>
      Effect.zipRight(
        Effect.flatMap(harness.controls.awaitAttempt("a", number), (attempt) => attempt.updateResource(uri)),
        settle
      )
    const crash = Effect.zipRight(
      Effect.flatMap(harness.controls.awaitAttempt("a"), (attempt) => attempt.crash(closed())),
      settle
    )
    return { ...harness, listen, update, crash }
  })

const changed = { server: "a", uri }
const resync = { server: "a", uri, resync: true }

describe("subscribeResource", () => {
  it.scoped("streams each change, also as an event", () =>
    Effect.gen(function* () {
      const { eventsOf, listen, update } = yield* listening()
      const { heard } = yield* listen
      yield* update()
      yield* update()
      assert.deepStrictEqual(heard, [changed, changed])
      assert.deepInclude(eventsOf("ResourceUpdated")[0], changed)
    })
  )

  it.scoped("continues after a reconnect, with a resync", () =>
    Effect.gen(function* () {
      const { crash, listen, update } = yield* listening()
      const { heard } = yield* listen
      yield* update()
      yield* crash
      assert.deepStrictEqual(heard, [changed, resync])
      yield* update(2)
      assert.deepStrictEqual(heard, [changed, resync, changed])
    })
  )

  it.scoped("continues after any time without the server", () =>
    Effect.gen(function* () {
      let isThere = true
      const { crash, listen, update } = yield* listening(() =>
        isThere ? open : FakeConnector.fail(new Errors.HttpFailed({ server: "a", status: 503 }))
      )
      const { fiber, heard } = yield* listen
      isThere = false
      yield* crash
      yield* passed("1 hour")
      assert.isFalse(yield* isOver(fiber))
      isThere = true
      yield* passed("10 minutes")
      assert.deepStrictEqual(heard, [resync])
      yield* update()
      assert.deepStrictEqual(heard, [resync, changed])
    })
  )

  it.scoped("shares one subscription at the server until the last reader leaves", () =>
    Effect.gen(function* () {
      const { count, listen, update } = yield* listening()
      const first = yield* listen
      const second = yield* listen
      assert.strictEqual(yield* count(`a#1 subscribed ${uri}`), 1)
      yield* update()
      assert.lengthOf(first.heard, 1)
      assert.lengthOf(second.heard, 1)
      yield* Fiber.interrupt(first.fiber)
      assert.strictEqual(yield* count(`a#1 unsubscribed ${uri}`), 0)
      yield* Fiber.interrupt(second.fiber)
      assert.strictEqual(yield* count(`a#1 unsubscribed ${uri}`), 1)
    })
  )

  it.scoped("fails when the server is removed, also while it reconnects", () =>
    Effect.gen(function* () {
      const { crash, listen, supervisor } = yield* listening([open, FakeConnector.hang])
      const { fiber } = yield* listen
      yield* crash
      yield* supervisor.remove("a")
      failureOf(yield* resultOf(fiber), "ServerNotFound")
      const other = yield* listening()
      const listener = yield* other.listen
      yield* other.supervisor.remove("a")
      failureOf(yield* resultOf(listener.fiber), "ServerNotFound")
    })
  )

  it.scoped("waits for the first connection as long as a call does", () =>
    Effect.gen(function* () {
      const { controls, listen } = yield* listening(FakeConnector.byHand)
      const { fiber, heard } = yield* listen
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ resources: [uri] }))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.updateResource(uri))
      yield* settle
      assert.deepStrictEqual(heard, [changed])
      assert.isFalse(yield* isOver(fiber))
      const late = yield* listening(FakeConnector.byHand)
      const listener = yield* late.listen
      yield* passed("10 seconds")
      failureOf(yield* resultOf(listener.fiber), "ServerUnavailable")
      yield* failsWith(Stream.runDrain(late.supervisor.subscribeResource("b", uri)), "ServerNotFound")
    })
  )

  it.scoped("fails with the server's error if it rejects the subscription", () =>
    Effect.gen(function* () {
      const error = new Errors.ProtocolError({ server: "a", code: -32002, message: "no such resource" })
      const { listen } = yield* listening(FakeConnector.open({ resources: [uri], subscribes: Effect.fail(error) }))
      const { fiber } = yield* listen
      failureOf(yield* resultOf(fiber), "ProtocolError")
    })
  )

  it.scoped("continues when a disabled server is enabled", () =>
    Effect.gen(function* () {
      const { listen, supervisor, update } = yield* listening()
      const { fiber, heard } = yield* listen
      yield* supervisor.disable("a")
      yield* settle
      assert.isFalse(yield* isOver(fiber))
      yield* supervisor.enable("a")
      yield* settle
      yield* update()
      assert.deepStrictEqual(heard, [resync, changed])
    })
  )

  it.scoped("moves to the new connection of a replaced server, while the old one finishes its calls", () =>
    Effect.gen(function* () {
      const busy = FakeConnector.open({ tools: ["t"], calls: { t: Effect.never }, resources: [uri] })
      const { controls, count, listen, supervisor, update } = yield* listening([busy, open])
      const { fiber, heard } = yield* listen
      yield* Effect.forkScoped(supervisor.callTool("a_t"))
      yield* controls.awaitCall("a")
      yield* supervisor.reconcile({ servers: { a: { ...local, args: ["--new"] } } })
      yield* settle
      assert.strictEqual(yield* controls.unclosed(), 2)
      assert.strictEqual(yield* count(`a#2 subscribed ${uri}`), 1)
      yield* update(2)
      assert.deepStrictEqual(heard, [resync, changed])
      assert.isFalse(yield* isOver(fiber))
    })
  )
})

describe("a subscription that the server rejects", () => {
  const refusals = [
    new Errors.RateLimited({ server: "a", retryAfter: 1_000 }),
    new Errors.CallTimeout({ server: "a", which: "idle", sent: true, after: 1_000 }),
    new Errors.ProtocolError({ server: "a", code: -32603, message: "no" })
  ]
  for (const refusal of refusals) {
    it.scoped(`after a reconnect is requested again, also with ${refusal._tag}`, () =>
      Effect.gen(function* () {
        let asked = 0
        const { controls, supervisor } = yield* supervise(
          { servers: { a: local } },
          {
            scripts: { a: FakeConnector.open({ resources: ["file:///x"] }) },
            around: (connector) => ({
              connect: (options) =>
                Effect.map(connector.connect(options), (session) => ({
                  ...session,
                  subscribeResource: (uri) =>
                    Stream.suspend(() => (++asked === 2 ? Stream.fail(refusal) : session.subscribeResource(uri)))
                }))
            })
          }
        )
        const seen: Array<ResourceUpdated> = []
        const reading = yield* Effect.fork(
          Stream.runForEach(supervisor.subscribeResource("a", "file:///x"), (update) =>
            Effect.sync(() => void seen.push(update))
          )
        )
        yield* settle
        yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
        yield* passed("1 second")
        assert.isFalse(yield* isOver(reading))
        const before = seen.length
        yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.updateResource("file:///x"))
        yield* settle
        assert.isAbove(seen.length, before)
      })
    )
  }
})
