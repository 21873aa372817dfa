import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Duration, Effect, Stream, TestClock } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { networkError, connectTo, openServer, settle } from "./fakeServers.js"

describe("a notification of the server", () => {
  const take = <A, E>(stream: Stream.Stream<A, E>, count: number) =>
    Effect.map(Stream.runCollect(Stream.take(stream, count)), Chunk.toReadonlyArray)

  it.scoped("is kept for the first reader, and merged with equal ones until it is read", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer({ tools: [] })
      for (let each = 0; each < 100; each++) yield* attempt.listChanged("tools")
      yield* attempt.updateResource("file:///a")
      yield* attempt.setPush("degraded")
      yield* attempt.setPush("open")
      yield* attempt.completeElicitation("e")
      assert.deepStrictEqual(yield* take(session.notifications, 4), [
        { _tag: "ListChanged", list: "tools" },
        { _tag: "ResourceUpdated", uri: "file:///a" },
        { _tag: "PushChanged", push: "open" },
        { _tag: "ElicitationCompleted", elicitationId: "e" }
      ])
      const later = yield* Effect.fork(take(session.notifications, 1))
      yield* settle
      yield* attempt.listChanged("prompts")
      assert.deepStrictEqual(yield* later, [{ _tag: "ListChanged", list: "prompts" }])
    })
  )

  it.scoped("can be read to the end after the session ended", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer({ tools: [] })
      yield* attempt.listChanged("tools")
      yield* attempt.crash()
      assert.strictEqual(Chunk.size(yield* Stream.runCollect(session.notifications)), 1)
    })
  )

  it.scoped("reports the state of the push channel", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer({ push: "none" })
      assert.strictEqual(yield* session.push, "none")
      yield* attempt.setPush("degraded")
      assert.strictEqual(yield* session.push, "degraded")
    })
  )

  it.scoped("subscribes once per resource and unsubscribes when the last reader leaves", () =>
    Effect.gen(function* () {
      const { attempt, awaitEntry, session, story } = yield* openServer({ resources: ["file:///a"] })
      const one = yield* Effect.fork(take(session.subscribeResource("file:///a"), 1))
      const two = yield* Effect.fork(take(session.subscribeResource("file:///a"), 2))
      yield* awaitEntry(({ type }) => type === "subscribed")
      yield* settle
      yield* attempt.updateResource("file:///b")
      yield* attempt.updateResource("file:///a")
      assert.deepStrictEqual(yield* one, [{ uri: "file:///a" }])
      assert.notInclude(yield* story, "a#1 unsubscribed file:///a")
      yield* attempt.updateResource("file:///a")
      assert.strictEqual((yield* two).length, 2)
      const lines = (yield* story).filter((line) => line.includes("subscribed"))
      assert.deepStrictEqual(lines, ["a#1 subscribed file:///a", "a#1 unsubscribed file:///a"])
    })
  )

  it.scoped("fails all readers when a subscription is rejected", () =>
    Effect.gen(function* () {
      const error = new Errors.ProtocolError({ server: "a", code: -32601, message: "no" })
      const { session, story } = yield* openServer({ subscribes: Effect.fail(error) })
      const read = Effect.flip(Stream.runDrain(session.subscribeResource("x")))
      assert.deepStrictEqual(yield* Effect.all([read, read], { concurrency: 2 }), [error, error])
      assert.notInclude(yield* story, "a#1 unsubscribed x")
    })
  )

  it.scoped("logs to the attempt and to readers; slow readers miss the oldest lines", () =>
    Effect.gen(function* () {
      const lines: Array<Protocol.LogLine> = []
      const fake = yield* FakeConnector.make()
      const opening = yield* Effect.fork(connectTo(fake, { onLog: (line) => lines.push(line) }))
      const attempt = yield* fake.controls.awaitAttempt("a")
      yield* attempt.log("starting")
      yield* attempt.open()
      const session = yield* opening
      yield* session.setLogLevel("warning")
      const slow = yield* Deferred.make<void>()
      const reading = yield* Effect.fork(Stream.runCollect(Stream.tap(session.logs, () => Deferred.await(slow))))
      yield* settle
      yield* attempt.log({ text: "quiet", source: "server", level: "info" })
      yield* attempt.log({ text: "loud", source: "server", level: "error" })
      assert.deepStrictEqual(lines, [
        { at: 0, source: "stderr", text: "starting" },
        { at: 0, source: "server", level: "error", text: "loud" }
      ])
      yield* settle
      for (let each = 1; each <= 1001; each++) yield* attempt.log(`line ${each}`)
      yield* attempt.crash()
      yield* Deferred.succeed(slow, undefined)
      const read = Chunk.toReadonlyArray(yield* reading)
      assert.strictEqual(read.length, 1001)
      assert.deepStrictEqual([read[0]?.text, read[1]?.text], ["starting", "line 2"])
    })
  )
})

describe("a request of the server", () => {
  it.scoped("is passed to the handlers of the client", () =>
    Effect.gen(function* () {
      const roots = yield* Deferred.make<ReadonlyArray<Protocol.Root>>()
      const { attempt, awaitEntry } = yield* openServer(
        {},
        {
          handlers: {
            roots: Stream.concat(Stream.make([{ uri: "file:///one" }]), Stream.fromEffect(Deferred.await(roots))),
            elicit: ({ message }) => Effect.succeed({ action: "accept", content: { message } }),
            sample: () => Effect.succeed({ role: "assistant", content: "hi", model: "m" })
          }
        }
      )
      assert.deepStrictEqual(yield* attempt.elicit({ mode: "form", message: "?" }), {
        action: "accept",
        content: { message: "?" }
      })
      assert.strictEqual((yield* attempt.sample({ messages: [], maxTokens: 1 })).model, "m")
      assert.deepStrictEqual(yield* attempt.roots, [{ uri: "file:///one" }])
      yield* Deferred.succeed(roots, [{ uri: "file:///two" }])
      yield* awaitEntry(({ type }) => type === "rootsChanged")
      assert.deepStrictEqual(yield* attempt.roots, [{ uri: "file:///two" }])
    })
  )

  it.scoped("is rejected without a handler and ends with the session", () =>
    Effect.gen(function* () {
      const { attempt } = yield* openServer({}, { handlers: { elicit: () => Effect.never } })
      const question = { mode: "form" as const, message: "?" }
      assert.strictEqual((yield* Effect.flip(attempt.sample({ messages: [], maxTokens: 1 }))).code, -32601)
      assert.strictEqual((yield* Effect.flip(attempt.roots)).code, -32601)
      const asking = yield* Effect.fork(Effect.flip(attempt.elicit(question)))
      yield* settle
      yield* attempt.crash()
      assert.strictEqual((yield* asking).code, -32000)
      assert.strictEqual((yield* Effect.flip(attempt.elicit(question))).code, -32000)
    })
  )
})

describe("probes", () => {
  it.scoped("are answered, fail or time out", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer()
      yield* session.probe("1 second")
      yield* attempt.set({ probe: Effect.fail(networkError) })
      assert.strictEqual(yield* Effect.flip(session.probe("1 second")), networkError)
      yield* attempt.set({ probe: Effect.never })
      const probe = yield* Effect.fork(Effect.flip(session.probe(Duration.seconds(1))))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* probe, new Errors.HealthCheckFailed({ server: "a", after: 1000 }))
    })
  )
})
