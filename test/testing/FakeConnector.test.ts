import { assert, describe, it } from "@effect/vitest"
import {
  Chunk,
  Deferred,
  Duration,
  Effect,
  Either,
  Exit,
  Fiber,
  Logger,
  Option,
  Random,
  Ref,
  Scope,
  Stream,
  TestClock
} from "effect"
import { Connector, type ConnectOptions } from "../../src/connection/Connector.js"
import type * as Session from "../../src/connection/Session.js"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { FakeConnector } from "../../src/testing/Testing.js"

const configOf = (input: ServerConfig.Input = { command: "server" }) =>
  Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("a", input)).config)

const closedError = new Errors.ConnectionClosed({ server: "a" })
const networkError = new Errors.NetworkFailed({ server: "a", code: "ECONNREFUSED", permanent: false })

const connectTo = (
  fake: FakeConnector.FakeConnector,
  options: Partial<ConnectOptions> & { readonly input?: ServerConfig.Input } = {}
) => fake.connector.connect({ server: "a", config: configOf(options.input), ...options })

/** A fake with one server that is open, its session, and the handle of the attempt. */
const openServer = (server: FakeConnector.ServerOptions = {}, options: Partial<ConnectOptions> = {}) =>
  Effect.gen(function* () {
    const fake = yield* FakeConnector.make({ a: FakeConnector.open(server) })
    const session = yield* connectTo(fake, options)
    const attempt = yield* fake.controls.awaitAttempt("a")
    return { ...fake.controls, session, attempt, story: story(fake) }
  })

/** Lets every fiber come to rest. */
const settle = TestClock.adjust(0)

const story = (fake: FakeConnector.FakeConnector) =>
  Effect.map(fake.controls.journal, (all) => all.map(FakeConnector.render))

const textOf = (result: Protocol.CallToolResult) => result.content.map((block) => block.text).join()

describe("attempts by script", () => {
  it.scoped("opens with what it was told to have", () =>
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

  it.scoped("has written what it was told to have written", () =>
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

  it.scoped("takes a function of the attempt's number, and a new script in the middle", () =>
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

  it.scoped("opens after its latency and crashes when it is told to", () =>
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

  it.scoped("gives up a hanging attempt after the config's time to connect", () =>
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
  it.scoped("tells phases and waits for the test", () =>
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

  it.scoped("gives the newest living attempt, or the one of a number", () =>
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

  it.scoped("crashes: closed completes, pending calls end with their outcome unknown, later ones are not sent", () =>
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

  it.scoped("changes what the server is like", () =>
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
  it.scoped("ends calls, streams and the session, and counts", () =>
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

  it.scoped("may take its time", () =>
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

  it.effect("may take forever, also of an attempt that never opened", () =>
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

describe("lists", () => {
  it.scoped("are empty without asking where the server has none", () =>
    Effect.gen(function* () {
      const { session, story } = yield* openServer()
      const lists = [session.listTools, session.listResources, session.listResourceTemplates, session.listPrompts]
      for (const list of lists) assert.deepStrictEqual(yield* list, { items: [], diagnostics: [] })
      assert.deepStrictEqual(yield* story, ["a#1 opening", "a#1 opened"])
    })
  )

  it.scoped("fill in what is left out and keep what is given", () =>
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

  it.scoped("know resources, prompts, completions and log levels", () =>
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
      // the answer is there: the clocks no longer count while the reports are handled
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(textOf(yield* call), "done")
      assert.deepStrictEqual(yield* seen, [1, 2, 3])
    })
  )

  it.scoped("wait for a progress handler no longer than a server may be silent", () =>
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

  it.scoped("are answered once: what comes after the answer changes nothing", () =>
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

describe("the clocks of a call", () => {
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

  it.scoped("total: is the one that is named when both run out at once", () =>
    Effect.gen(function* () {
      const { session } = yield* openServer({ calls: () => Effect.never })
      const limits = { idleTimeout: 2000, totalTimeout: 2000 }
      const call = yield* Effect.fork(Effect.flip(session.callTool("x", {}, limits)))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(timedOut(yield* call), ["total", 2000])
    })
  )

  it.scoped("stand still while the server waits for a person", () =>
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

describe("the clocks of all calls", () => {
  it.scoped("stand still for a question by hand, and for several at once", () =>
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

describe("what the server says unasked", () => {
  const take = <A, E>(stream: Stream.Stream<A, E>, count: number) =>
    Effect.map(Stream.runCollect(Stream.take(stream, count)), Chunk.toReadonlyArray)

  it.scoped("is kept for the first reader and counts once until it is read", () =>
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

  it.scoped("is read to its end when the session ends", () =>
    Effect.gen(function* () {
      const { attempt, session } = yield* openServer({ tools: [] })
      yield* attempt.listChanged("tools")
      yield* attempt.crash()
      assert.strictEqual(Chunk.size(yield* Stream.runCollect(session.notifications)), 1)
    })
  )

  it.scoped("tells how the push channel is", () =>
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

  it.scoped("fails all readers when a subscription is refused", () =>
    Effect.gen(function* () {
      const error = new Errors.ProtocolError({ server: "a", code: -32601, message: "no" })
      const { session, story } = yield* openServer({ subscribes: Effect.fail(error) })
      const read = Effect.flip(Stream.runDrain(session.subscribeResource("x")))
      assert.deepStrictEqual(yield* Effect.all([read, read], { concurrency: 2 }), [error, error])
      assert.notInclude(yield* story, "a#1 unsubscribed x")
    })
  )

  it.scoped("logs to the attempt and to readers, who miss the oldest when they are slow", () =>
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

describe("what the server asks", () => {
  it.scoped("goes to the handlers of the client", () =>
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

  it.scoped("is refused without a handler and ends with the session", () =>
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
  it.scoped("are answered, fail or run into their time", () =>
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

describe("the journal", () => {
  it.scoped("says when, who and which attempt", () =>
    Effect.gen(function* () {
      const { controls, layer } = yield* FakeConnector.make({ b: FakeConnector.open({ latency: 5 }) })
      const connect = Effect.flatMap(Connector, ({ connect }) => connect({ server: "b", config: configOf() }))
      yield* Effect.forkScoped(Effect.provide(connect, layer))
      yield* TestClock.adjust(5)
      assert.deepStrictEqual(yield* controls.journal, [
        { at: 0, server: "b", attempt: 1, type: "opening" },
        { at: 5, server: "b", attempt: 1, type: "opened" }
      ])
    })
  )

  it.scoped("comes with the layer", () =>
    Effect.gen(function* () {
      const { connect } = yield* Connector
      yield* connect({ server: "a", config: configOf({ url: "http://localhost/" }) })
      const controls = yield* FakeConnector.Controls
      assert.strictEqual(yield* controls.openSessions("a"), 1)
      assert.strictEqual(yield* controls.openSessions("b"), 0)
    }).pipe(Effect.provide(FakeConnector.layer({ a: FakeConnector.open() })))
  )
})

describe("any history", () => {
  const seeds = Array.from({ length: 8 }, (_, index) => `seed ${index}`)

  /** Connects, calls, crashes, interrupts and closes at random, then lets everything go. */
  const history = Effect.gen(function* () {
    const delay = Effect.map(Random.nextIntBetween(0, 50), Duration.millis)
    const fake = yield* FakeConnector.make({
      a: FakeConnector.open({
        latency: 10,
        calls: () => Effect.flatMap(delay, Effect.sleep).pipe(Effect.as(FakeConnector.text("x")))
      })
    })
    const use = Effect.gen(function* () {
      const session = yield* connectTo(fake)
      const patience = yield* delay
      const calls = Effect.forEach([1, 2, 3], () => Effect.timeoutOption(session.callTool("x"), patience), {
        concurrency: "unbounded"
      })
      yield* Effect.exit(calls)
      yield* Effect.sleep(yield* delay)
    })
    const user = Effect.gen(function* () {
      yield* Effect.sleep(yield* delay)
      const patience = yield* delay
      yield* Effect.timeoutOption(Effect.scoped(use), patience)
    })
    const vandal = Effect.gen(function* () {
      yield* Effect.sleep(yield* delay)
      const attempts = yield* fake.controls.attempts("a")
      yield* Effect.forEach(attempts, (attempt) => attempt.crash())
    })
    const all = yield* Effect.fork(
      Effect.all([...Array.from({ length: 10 }, () => user), vandal], { concurrency: "unbounded" })
    )
    for (let each = 0; each < 12; each++) {
      yield* TestClock.adjust("10 millis")
      const journal = yield* fake.controls.journal
      const opened = journal.filter(({ type }) => type === "opened")
      const closed = journal.filter(
        (entry) => entry.type === "closed" && opened.some(({ attempt }) => attempt === entry.attempt)
      )
      assert.strictEqual(yield* fake.controls.openSessions(), opened.length - closed.length)
    }
    yield* Fiber.join(all)
    return fake
  })

  it.effect.each(seeds)("ends each attempt and each call exactly once: %s", (seed) =>
    Effect.gen(function* () {
      const { controls } = yield* history
      const journal = yield* controls.journal
      const count = (...types: ReadonlyArray<FakeConnector.Entry["type"]>) =>
        journal.filter(({ type }) => types.includes(type)).length
      assert.strictEqual(count("opening"), 10)
      assert.strictEqual(count("opening"), count("closed"))
      assert.strictEqual(count("opening"), count("opened", "failed", "abandoned"))
      assert.strictEqual(count("called"), count("settled", "cancelled"))
      assert.strictEqual(yield* controls.unclosed(), 0)
      const ends = journal.flatMap((entry) =>
        entry.type === "settled" || entry.type === "cancelled" ? [entry.call] : []
      )
      assert.strictEqual(new Set(ends).size, ends.length)
    }).pipe(Effect.withRandom(Random.make(seed)))
  )
})
