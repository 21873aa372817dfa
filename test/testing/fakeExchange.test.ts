import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Ref, TestClock } from "effect"
import type * as Session from "../../src/connection/Session.js"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { networkError, connectTo, openServer, settle, textOf } from "./fakeServers.js"

describe("lists", () => {
  it.scoped("are empty without a request if the server has none", () =>
    Effect.gen(function* () {
      const { session, story } = yield* openServer()
      const lists = [session.listTools, session.listResources, session.listResourceTemplates, session.listPrompts]
      for (const list of lists) assert.deepStrictEqual(yield* list, { items: [], diagnostics: [] })
      assert.deepStrictEqual(yield* story, ["a#1 opening", "a#1 opened"])
    })
  )

  it.scoped("fill in omitted keys and keep given ones", () =>
    Effect.gen(function* () {
      const listing = { items: [{ name: "p", arguments: [] }], diagnostics: [], ttl: 5 }
      const { session, story } = yield* openServer({
        resources: ["file:///a", { uri: "file:///b", name: "b" }],
        resourceTemplates: () => ["file:///{x}"],
        prompts: Effect.succeed(listing)
      })
      assert.deepStrictEqual((yield* session.listResources).items, [
        { uri: "file:///a", name: "file:///a" },
        { uri: "file:///b", name: "b" }
      ])
      assert.deepStrictEqual((yield* session.listResourceTemplates).items, [
        { uriTemplate: "file:///{x}", name: "file:///{x}" }
      ])
      assert.deepStrictEqual(yield* session.listPrompts, listing)
      assert.deepStrictEqual((yield* story).slice(2), [
        "a#1 listed resources",
        "a#1 listed resourceTemplates",
        "a#1 listed prompts"
      ])
    })
  )

  it.scoped("are empty with a diagnostic if the server does not know the method", () =>
    Effect.gen(function* () {
      const unknown = new Errors.ProtocolError({ server: "a", code: -32601, message: "no" })
      const { session } = yield* openServer({ tools: Effect.fail(unknown) })
      const { diagnostics, items } = yield* session.listTools
      assert.deepStrictEqual([items, diagnostics.map(({ code }) => code)], [[], ["list_not_there"]])
    })
  )

  it.scoped("time out", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({ tools: Effect.never })
      const listing = yield* Effect.fork(Effect.flip(session.listTools))
      yield* TestClock.adjust("30 seconds")
      assert.deepInclude(yield* listing, { _tag: "CallTimeout", which: "total", after: 30_000 })
    })
  )
})

describe("requests", () => {
  it.scoped("are answered by value, Effect or function", () =>
    Effect.gen(function* () {
      const limited = new Errors.RateLimited({ server: "a", retryAfter: 1 })
      const { session, story } = yield* openServer({
        tools: ["listed"],
        calls: {
          value: FakeConnector.text("value"),
          broken: FakeConnector.errorText("broken"),
          failing: Effect.fail(limited),
          slow: Effect.delay(Effect.succeed(FakeConnector.text("slow")), "2 seconds"),
          echo: ({ args, meta }) => FakeConnector.text(JSON.stringify({ args, meta }))
        }
      })
      assert.strictEqual(textOf(yield* session.callTool("value")), "value")
      assert.isTrue((yield* session.callTool("broken")).isError)
      assert.strictEqual(yield* Effect.flip(session.callTool("failing")), limited)
      const echoed = yield* session.callTool("echo", { x: 1 }, { meta: { y: 2 } })
      assert.strictEqual(textOf(echoed), '{"args":{"x":1},"meta":{"y":2}}')
      assert.strictEqual(textOf(yield* session.callTool("listed")), "listed")
      assert.deepInclude(yield* Effect.flip(session.callTool("toString")), { _tag: "ProtocolError", code: -32602 })
      const slow = yield* Effect.fork(session.callTool("slow"))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(textOf(yield* slow), "slow")
      assert.include(yield* story, "a#1 settled RateLimited")
    })
  )

  it.scoped("support resources, prompts, completions and log levels", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({
        resources: ["file:///a"],
        prompts: ["hello"],
        reads: { "file:///b": { contents: [] } },
        gets: { bye: ({ args }) => ({ description: String(args.name), messages: [] }) },
        completes: { completion: { values: ["x"] } }
      })
      assert.deepStrictEqual(yield* session.readResource("file:///a"), {
        contents: [{ uri: "file:///a", text: "file:///a" }]
      })
      assert.deepStrictEqual(yield* session.readResource("file:///b"), { contents: [] })
      assert.deepInclude(yield* Effect.flip(session.readResource("file:///c")), { code: -32002 })
      assert.deepStrictEqual(yield* session.getPrompt("hello"), { messages: [] })
      assert.strictEqual((yield* session.getPrompt("bye", { name: "Zoë" })).description, "Zoë")
      const completion = { ref: { type: "ref/prompt" as const, name: "hello" }, argument: { name: "n", value: "" } }
      assert.deepStrictEqual((yield* session.complete(completion)).completion.values, ["x"])
      yield* session.setLogLevel("error")
    })
  )

  it.scoped("are answered by hand, each once", () =>
    Effect.gen(function* () {
      const { awaitCall, session } = yield* openServer({ calls: () => Effect.never })
      const one = yield* Effect.fork(session.callTool("x", { n: 1 }))
      const two = yield* Effect.fork(Effect.flip(session.callTool("y", { n: 2 })))
      const second = yield* awaitCall("a", "y")
      const first = yield* awaitCall("a")
      assert.deepStrictEqual([first.args, second.args], [{ n: 1 }, { n: 2 }])
      const error = new Errors.ProtocolError({ server: "a", code: 1, message: "no" })
      assert.isTrue(yield* second.fail(error))
      assert.isTrue(yield* first.answer(FakeConnector.text("done")))
      assert.isFalse(yield* first.answer(FakeConnector.text("again")))
      assert.strictEqual(textOf(yield* one), "done")
      assert.strictEqual(yield* two, error)
    })
  )

  it.scoped("are cancelled by interruption, and the connection stays", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const { awaitCall, session, story } = yield* openServer({
        tools: ["ok"],
        calls: { hang: Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined)) }
      })
      const call = yield* Effect.fork(session.callTool("hang"))
      const handle = yield* awaitCall("a")
      yield* settle
      yield* Fiber.interrupt(call)
      yield* Deferred.await(stopped)
      assert.isFalse(yield* handle.answer(FakeConnector.text("late")))
      assert.strictEqual(textOf(yield* session.callTool("ok")), "ok")
      assert.deepStrictEqual((yield* story).slice(2), [
        "a#1 called tools/call hang",
        "a#1 cancelled",
        "a#1 called tools/call ok",
        "a#1 settled answered"
      ])
    })
  )

  it.scoped("run progress handlers in order before they return, and nothing after", () =>
    Effect.gen(function* () {
      const seen = yield* Ref.make<ReadonlyArray<number>>([])
      const { session } = yield* openServer({
        calls: (call) =>
          Effect.as(
            Effect.forEach([1, 2, 3], (progress) => call.progress({ progress })),
            FakeConnector.text("done")
          )
      })
      const call = yield* Effect.fork(
        session.callTool(
          "x",
          {},
          {
            onProgress: ({ progress }) =>
              Effect.delay(
                Ref.update(seen, (all) => [...all, progress]),
                "4 seconds"
              ),
            idleTimeout: "20 seconds",
            totalTimeout: "5 seconds"
          }
        )
      )
      // the result has arrived: the timeouts no longer count while reports are handled
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(textOf(yield* call), "done")
      assert.deepStrictEqual(yield* seen, [1, 2, 3])
    })
  )

  it.scoped("wait for a progress handler at most for the idle timeout", () =>
    Effect.gen(function* () {
      const interrupted = yield* Deferred.make<void>()
      const { session } = yield* openServer({
        calls: (call) => Effect.as(call.progress({ progress: 1 }), FakeConnector.text("done"))
      })
      const onProgress = () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      const call = yield* Effect.fork(session.callTool("x", {}, { onProgress, idleTimeout: "10 seconds" }))
      yield* TestClock.adjust("9 seconds")
      assert.isNull(call.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(textOf(yield* call), "done")
      yield* Deferred.await(interrupted)
    })
  )

  it.scoped("do not wait for a progress handler if they fail", () =>
    Effect.gen(function* () {
      const refused = new Errors.ProtocolError({ server: "a", code: -32000, message: "no" })
      const { session } = yield* openServer({
        calls: (call) => Effect.zipRight(call.progress({ progress: 1 }), Effect.fail(refused))
      })
      const call = Effect.flip(session.callTool("x", {}, { onProgress: () => Effect.never }))
      assert.strictEqual(yield* call, refused)
    })
  )

  it.scoped("do not fail with a progress handler", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({
        calls: (call) => Effect.as(call.progress({ progress: 1 }), FakeConnector.text("done"))
      })
      const result = yield* session.callTool("x", {}, { onProgress: () => Effect.die("a bug") })
      assert.strictEqual(textOf(result), "done")
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.scoped("are answered once; later answers change nothing", () =>
    Effect.gen(function* () {
      const { attempt, awaitCall, session } = yield* openServer({ calls: () => Effect.never })
      const onProgress = () => Effect.sleep("1 second")
      const call = yield* Effect.fork(session.callTool("x", {}, { onProgress }))
      const handle = yield* awaitCall("a")
      yield* handle.progress({ progress: 1 })
      assert.isTrue(yield* handle.answer(FakeConnector.text("done")))
      assert.isFalse(yield* handle.answer(FakeConnector.text("again")))
      assert.isFalse(yield* handle.fail(new Errors.NotSent({ server: "a", reason: "late" })))
      yield* attempt.crash(networkError)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(textOf(yield* call), "done")
    })
  )
})

describe("the timeouts of a call", () => {
  const timedOut = (error: Session.RequestError) => {
    assert(error._tag === "CallTimeout")
    assert.isTrue(error.sent)
    return [error.which, error.after]
  }

  it.scoped("idle: fails without a sign of life, and progress is one", () =>
    Effect.gen(function* () {
      const { awaitCall, session } = yield* openServer({ calls: () => Effect.never })
      const call = yield* Effect.fork(Effect.flip(session.callTool("x", {}, { idleTimeout: "10 seconds" })))
      const handle = yield* awaitCall("a")
      yield* TestClock.adjust("9 seconds")
      yield* handle.progress({ progress: 1 })
      yield* TestClock.adjust("9 seconds")
      assert.isNull(call.unsafePoll())
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(timedOut(yield* call), ["idle", 10_000])
    })
  )

  it.scoped("total: fails in any case; both default to the config", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.open({ calls: () => Effect.never }) })
      const session = yield* connectTo(fake, {
        input: { command: "server", timeout: { call: "2 seconds", total: "3 seconds" } }
      })
      const call = yield* Effect.fork(Effect.flip(session.callTool("x")))
      const handle = yield* fake.controls.awaitCall("a")
      yield* TestClock.adjust("1500 millis")
      yield* handle.progress({ progress: 1 })
      yield* TestClock.adjust("1500 millis")
      assert.deepStrictEqual(timedOut(yield* call), ["total", 3000])
      const silent = yield* Effect.fork(Effect.flip(session.callTool("x")))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(timedOut(yield* silent), ["idle", 2000])
    })
  )

  it.scoped("total: is reported if both expire at the same time", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({ calls: () => Effect.never })
      const limits = { idleTimeout: 2000, totalTimeout: 2000 }
      const call = yield* Effect.fork(Effect.flip(session.callTool("x", {}, limits)))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(timedOut(yield* call), ["total", 2000])
    })
  )

  it.scoped("are paused while the server waits for a person", () =>
    Effect.gen(function* () {
      const answers = yield* Deferred.make<Protocol.ElicitResult>()
      const { session } = yield* openServer(
        {
          calls: (call) =>
            Effect.flatMap(call.elicit({ mode: "form", message: "sure?" }), ({ action }) =>
              Effect.delay(Effect.succeed(FakeConnector.text(action)), "9 seconds")
            )
        },
        { handlers: { elicit: () => Deferred.await(answers) } }
      )
      const call = yield* Effect.fork(
        session.callTool("x", {}, { idleTimeout: "10 seconds", totalTimeout: "10 seconds" })
      )
      yield* TestClock.adjust("1 hour")
      yield* Deferred.succeed(answers, { action: "accept" })
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(textOf(yield* call), "accept")
    })
  )
})

describe("the timeouts of all calls", () => {
  it.scoped("are paused by a request from the test, and by several at once", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.all([
        Deferred.make<Protocol.ElicitResult>(),
        Deferred.make<Protocol.ElicitResult>()
      ])
      const { attempt, awaitCall, session } = yield* openServer(
        { calls: () => Effect.never },
        { handlers: { elicit: ({ message }) => Deferred.await(answers[message === "0" ? 0 : 1]) } }
      )
      const call = yield* Effect.fork(Effect.flip(session.callTool("x", {}, { idleTimeout: "10 seconds" })))
      const handle = yield* awaitCall("a")
      yield* TestClock.adjust("4 seconds")
      yield* Effect.fork(attempt.elicit({ mode: "form", message: "0" }))
      yield* TestClock.adjust("1 minute")
      yield* Effect.fork(handle.elicit({ mode: "form", message: "1" }))
      yield* TestClock.adjust("1 minute")
      yield* Deferred.succeed(answers[0], { action: "accept" })
      yield* TestClock.adjust("1 minute")
      yield* Deferred.succeed(answers[1], { action: "accept" })
      yield* TestClock.adjust("5999 millis")
      assert.isNull(call.unsafePoll())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* call)._tag, "CallTimeout")
    })
  )
})
