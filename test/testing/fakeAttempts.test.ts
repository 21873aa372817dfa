import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Ref, Scope, Stream, TestClock } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closedError, networkError, connectTo, openServer, settle, story } from "./fakeServers.js"

describe("attempts by script", () => {
  it.scoped("opens with the described server", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({ tools: ["echo", { name: "add", description: "Adds" }], prompts: [] })
      assert.strictEqual(session.info.transport, "stdio")
      assert.hasAllKeys(session.info.capabilities, ["logging", "tools", "prompts"])
      const { diagnostics, items } = yield* session.listTools
      assert.deepStrictEqual(items, [
        { name: "echo", inputSchema: { type: "object" } },
        { name: "add", description: "Adds", inputSchema: { type: "object" } }
      ])
      assert.deepStrictEqual(diagnostics, [])
    })
  )

  it.scoped("has the described output", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer()
      assert.deepStrictEqual(yield* session.output, { stderr: "", strayLines: 0 })
      yield* attempt.set({ output: { stderr: "fatal" } })
      assert.deepStrictEqual(yield* session.output, { stderr: "fatal", strayLines: 0 })
      yield* attempt.set({ output: { stderr: "fatal", strayLines: 3 } })
      assert.deepStrictEqual(yield* session.output, { stderr: "fatal", strayLines: 3 })
    })
  )

  it.scoped("plays one behaviour per attempt and repeats the last", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({
        a: [FakeConnector.fail(networkError), FakeConnector.failAfter("1 second", networkError), FakeConnector.open()]
      })
      const attempt = Effect.exit(Effect.scoped(connectTo(fake)))
      assert.deepStrictEqual(yield* attempt, Exit.fail(networkError))
      const second = yield* Effect.fork(attempt)
      yield* TestClock.adjust("999 millis")
      assert.isNull(second.unsafePoll())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* second, Exit.fail(networkError))
      assert.isTrue(Exit.isSuccess(yield* attempt))
      assert.isTrue(Exit.isSuccess(yield* attempt))
      assert.deepStrictEqual(yield* story(fake), [
        "a#1 opening",
        "a#1 failed NetworkFailed",
        "a#1 closed",
        "a#2 opening",
        "a#2 failed NetworkFailed",
        "a#2 closed",
        "a#3 opening",
        "a#3 opened",
        "a#3 closed",
        "a#4 opening",
        "a#4 opened",
        "a#4 closed"
      ])
    })
  )

  it.scoped("accepts a function of the attempt's number, and a new script at any time", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({
        a: (attempt) => (attempt < 2 ? FakeConnector.fail(networkError) : FakeConnector.open())
      })
      const attempt = Effect.isSuccess(Effect.scoped(connectTo(fake)))
      assert.deepStrictEqual([yield* attempt, yield* attempt], [false, true])
      yield* fake.controls.script("a", [FakeConnector.fail(networkError), FakeConnector.open()])
      assert.deepStrictEqual([yield* attempt, yield* attempt, yield* attempt], [false, true, true])
    })
  )

  it.scoped("opens after its latency and crashes after its uptime", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({
        a: FakeConnector.openThenCrash("1 minute", closedError, { latency: "1 second" })
      })
      const opening = yield* Effect.fork(connectTo(fake))
      yield* TestClock.adjust("1 second")
      const session = yield* opening
      const closed = yield* Effect.fork(session.closed)
      yield* TestClock.adjust("59 seconds")
      assert.isNull(closed.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* closed, closedError)
    })
  )

  it.scoped("fails a hanging attempt after the connect timeout", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.hang })
      const opening = yield* Effect.fork(connectTo(fake, { input: { command: "server", timeout: { connect: 5000 } } }))
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(opening)
      assert.deepInclude(error, { _tag: "ConnectTimeout", phase: "handshake", after: 5000 })
    })
  )

  it.scoped("is abandoned when it is interrupted", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.hang })
      const opening = yield* Effect.fork(Effect.scoped(connectTo(fake)))
      const attempt = yield* fake.controls.awaitAttempt("a")
      assert.strictEqual(yield* fake.controls.unclosed(), 1)
      yield* Fiber.interrupt(opening)
      assert.deepStrictEqual(yield* story(fake), ["a#1 opening", "a#1 abandoned", "a#1 closed"])
      assert.isFalse(yield* attempt.open())
      assert.isFalse(yield* attempt.fail(networkError))
      assert.strictEqual(yield* fake.controls.unclosed(), 0)
    })
  )
})

describe("attempts by hand", () => {
  it.scoped("reports phases and waits for the test", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make()
      const phases = yield* Ref.make<ReadonlyArray<string>>([])
      const opening = yield* Effect.fork(
        connectTo(fake, { onPhase: (phase) => Ref.update(phases, (all) => [...all, phase]) })
      )
      const attempt = yield* fake.controls.awaitAttempt("a")
      yield* settle
      yield* attempt.phase("discover")
      assert.deepStrictEqual(yield* phases, ["spawn", "handshake", "discover"])
      assert.strictEqual(yield* attempt.stage, "opening")
      assert.isTrue(yield* attempt.open({ tools: ["echo"] }))
      const session = yield* opening
      assert.strictEqual((yield* session.listTools).items.length, 1)
      assert.isFalse(yield* attempt.open())
      assert.isFalse(yield* attempt.phase("spawn"))
    })
  )

  it.scoped("returns the newest open attempt, or the one with a number", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make()
      const { controls } = fake
      const third = yield* Effect.fork(controls.awaitAttempt("a", 3))
      const first = yield* Effect.fork(Effect.exit(connectTo(fake)))
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.fail(networkError))
      assert.deepStrictEqual(yield* first, Exit.fail(networkError))
      yield* Effect.forkScoped(connectTo(fake))
      assert.strictEqual((yield* controls.awaitAttempt("a")).number, 2)
      assert.strictEqual((yield* controls.awaitAttempt("a", 1)).number, 1)
      yield* Effect.forkScoped(connectTo(fake))
      assert.strictEqual((yield* third).number, 3)
      assert.strictEqual((yield* controls.awaitAttempt("a")).number, 3)
      assert.strictEqual((yield* controls.attempts("a")).length, 3)
      assert.strictEqual((yield* controls.attempts("b")).length, 0)
    })
  )

  it.scoped("crashes: `closed` completes, pending calls fail as OutcomeUnknown, later ones as NotSent", () =>
    Effect.gen(function* () {
      const { attempt, awaitCall, openSessions, session, story } = yield* openServer({
        calls: () => Effect.never,
        probe: Effect.never
      })
      const call = yield* Effect.fork(Effect.flip(session.callTool("echo")))
      yield* awaitCall("a")
      const probe = yield* Effect.fork(Effect.flip(session.probe("1 second")))
      yield* settle
      assert.isTrue(yield* attempt.crash(networkError))
      assert.deepStrictEqual(yield* call, new Errors.OutcomeUnknown({ server: "a", cause: networkError }))
      assert.strictEqual(yield* probe, networkError)
      assert.strictEqual(yield* session.closed, networkError)
      const late = yield* Effect.flip(session.callTool("echo"))
      assert(late._tag === "NotSent")
      assert.include(late.reason, "ECONNREFUSED")
      assert.strictEqual(yield* Effect.flip(session.probe("1 second")), networkError)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(session.subscribeResource("x"))))._tag, "NotSent")
      assert.isFalse(yield* attempt.crash())
      assert.isFalse(yield* attempt.listChanged("tools"))
      assert.strictEqual(yield* openSessions("a"), 1)
      assert.deepStrictEqual((yield* story).slice(2), [
        "a#1 called tools/call echo",
        "a#1 probed",
        "a#1 crashed NetworkFailed",
        "a#1 settled OutcomeUnknown"
      ])
    })
  )

  it.scoped("changes the described server", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer({ tools: ["one"] })
      yield* attempt.set({ tools: ["one", "two"] })
      assert.strictEqual((yield* session.listTools).items.length, 2)
      yield* attempt.set({ tools: Effect.fail(new Errors.RateLimited({ server: "a", retryAfter: 5 })) })
      assert.strictEqual((yield* Effect.flip(session.listTools))._tag, "RateLimited")
    })
  )
})

describe("the end of the scope", () => {
  it.scoped("ends calls, streams and the session, and is counted", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.open({ calls: () => Effect.never, resources: [] }) })
      const scope = yield* Scope.make()
      const session = yield* Scope.extend(connectTo(fake), scope)
      const call = yield* Effect.fork(Effect.flip(session.callTool("echo")))
      const streams = yield* Effect.fork(
        Effect.all(
          [
            Stream.runDrain(session.notifications),
            Stream.runDrain(session.logs),
            Stream.runDrain(session.subscribeResource("x"))
          ],
          { concurrency: "unbounded" }
        )
      )
      yield* fake.controls.awaitCall("a")
      yield* settle
      assert.strictEqual(yield* fake.controls.openSessions(), 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* call)._tag, "OutcomeUnknown")
      yield* streams
      assert.strictEqual((yield* session.closed)._tag, "ConnectionClosed")
      assert.strictEqual(yield* fake.controls.openSessions(), 0)
      assert.strictEqual((yield* story(fake)).filter((line) => line === "a#1 closed").length, 1)
    })
  )

  it.scoped("can take time", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.open({ closeTakes: "3 seconds" }) })
      const closing = yield* Effect.fork(Effect.scoped(connectTo(fake)))
      yield* fake.controls.awaitEntry(({ type }) => type === "closing")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* fake.controls.openSessions(), 1)
      yield* TestClock.adjust("1 second")
      yield* closing
      assert.strictEqual(yield* fake.controls.openSessions(), 0)
    })
  )

  it.effect("can take forever, also for an attempt that never opened", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.closing(FakeConnector.fail(networkError), "forever") })
      const closing = yield* Effect.scoped(connectTo(fake)).pipe(
        Effect.disconnect,
        Effect.timeoutOption("5 seconds"),
        Effect.fork
      )
      yield* fake.controls.awaitEntry(({ type }) => type === "closing")
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Option.isNone(yield* closing))
      assert.strictEqual(yield* fake.controls.openSessions(), 0)
      assert.strictEqual(yield* fake.controls.unclosed("a"), 1)
    })
  )
})
