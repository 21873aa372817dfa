import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { Connector } from "../../src/connection/Connector.js"
import type * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { CatalogStore } from "../../src/supervision/catalog/CatalogStore.js"
import * as Supervisor from "../../src/supervision/Supervisor.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { failsWith, failureOf, isOver, local, passed, remote, resultOf, settle, supervise } from "./support.js"

const many = (count: number, config: ServerConfig.Input) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, config]))

const scripted = (count: number, script: FakeConnector.Script) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, script]))

describe("closing the scope", () => {
  it.scoped("closes all servers in parallel", () =>
    Effect.gen(function* () {
      const script = FakeConnector.closing(FakeConnector.open(), "2 seconds")
      const { close, controls } = yield* supervise({ servers: many(20, remote) }, { scripts: scripted(20, script) })
      assert.strictEqual(yield* controls.openSessions(), 20)
      const closing = yield* Effect.fork(close)
      yield* passed("2 seconds")
      assert.isTrue(yield* isOver(closing))
      assert.strictEqual(yield* controls.unclosed(), 0)
    })
  )

  it.scoped("takes no extra time if the layer was built uninterruptibly", () =>
    Effect.gen(function* () {
      const fake = yield* FakeConnector.make({ a: FakeConnector.hang, b: FakeConnector.open() })
      const layer = Layer.provide(
        Supervisor.layer({ servers: { a: remote, b: remote } }),
        Layer.succeed(Connector, fake.connector)
      )
      const scope = yield* Scope.make()
      yield* Effect.uninterruptible(Layer.buildWithScope(layer, scope))
      yield* settle
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* settle
      const isClosed = yield* isOver(closing)
      yield* passed("20 seconds")
      assert.isTrue(isClosed)
      assert.strictEqual(yield* fake.controls.unclosed(), 0)
    })
  )

  for (const [what, behaviour] of [
    ["whose close hangs", FakeConnector.open()],
    ["that hang while they connect, and when they close", FakeConnector.hang]
  ] as const) {
    it.scoped(`takes one budget for 20 servers ${what}`, () =>
      Effect.gen(function* () {
        const script = FakeConnector.closing(behaviour, "forever")
        const { close } = yield* supervise({ servers: many(20, remote) }, { scripts: scripted(20, script) })
        const closing = yield* Effect.fork(close)
        yield* passed("4 seconds")
        assert.isFalse(yield* isOver(closing))
        yield* passed("2 seconds")
        assert.isTrue(yield* isOver(closing))
      })
    )
  }

  it.scoped("ends attempts at once, also those that wait for their turn", () =>
    Effect.gen(function* () {
      const { close, controls, story } = yield* supervise({ servers: many(12, local) })
      yield* close
      assert.strictEqual(yield* controls.unclosed(), 0)
      assert.lengthOf(
        (yield* story()).filter((line) => line.endsWith("abandoned")),
        8
      )
    })
  )

  it.scoped("settles calls that are sent, queued or waiting for a server", () =>
    Effect.gen(function* () {
      const { close, controls, supervisor } = yield* supervise(
        { servers: { a: { ...local, concurrency: 1 }, b: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      const sent = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* controls.awaitCall("a")
      const queued = yield* Effect.fork(supervisor.callTool("a_x"))
      const parked = yield* Effect.fork(supervisor.callServerTool("b", "x"))
      yield* settle
      yield* close
      failureOf(yield* resultOf(sent), "OutcomeUnknown")
      failureOf(yield* resultOf(queued), "SupervisorClosed")
      failureOf(yield* resultOf(parked), "SupervisorClosed")
    })
  )

  it.scoped("settles calls at once even if their server does not close", () =>
    Effect.gen(function* () {
      const { close, controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never }, closeTakes: "forever" }) } }
      )
      const sent = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* controls.awaitCall("a")
      const closing = yield* Effect.fork(close)
      failureOf(yield* resultOf(sent), "OutcomeUnknown")
      const during = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("6 seconds")
      yield* closing
      failureOf(yield* resultOf(during), "SupervisorClosed")
    })
  )

  it.scoped("leaves no server, and later requests fail", () =>
    Effect.gen(function* () {
      const { close, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      yield* close
      yield* failsWith(supervisor.callTool("a_x"), "SupervisorClosed")
      yield* failsWith(supervisor.callServerTool("a", "x"), "SupervisorClosed")
      yield* failsWith(supervisor.readResource("a", "file:///x"), "SupervisorClosed")
      yield* failsWith(supervisor.getPrompt("a", "p"), "SupervisorClosed")
      assert.deepStrictEqual(yield* supervisor.servers, [])
      assert.deepStrictEqual((yield* supervisor.catalog).tools, [])
      yield* failsWith(supervisor.restart("a"), "ServerNotFound")
    })
  )

  it.scoped("starts nothing by commands that arrive during or after it", () =>
    Effect.gen(function* () {
      const { close, controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.closing(FakeConnector.open(), "2 seconds"), b: FakeConnector.open() } }
      )
      const closing = yield* Effect.fork(close)
      yield* settle
      const adding = yield* Effect.fork(Effect.exit(supervisor.add("b", local)))
      const reconciling = yield* Effect.fork(Effect.exit(supervisor.reconcile({ servers: { b: local } })))
      yield* passed("10 seconds")
      yield* closing
      yield* Fiber.interruptFork(adding)
      yield* Fiber.interruptFork(reconciling)
      yield* Effect.exit(supervisor.add("b", local))
      yield* passed("10 seconds")
      assert.strictEqual(yield* controls.unclosed(), 0, "something lives after the end")
    })
  )

  it.scoped("ends the wait of callers that wait for a status", () =>
    Effect.gen(function* () {
      const { close, supervisor } = yield* supervise({ servers: { a: local } })
      const connecting = yield* Effect.fork(Effect.exit(supervisor.connect("a")))
      const settling = yield* Effect.fork(Effect.exit(supervisor.awaitSettled()))
      yield* settle
      yield* close
      assert.isTrue(yield* isOver(connecting))
      assert.isTrue(yield* isOver(settling))
    })
  )

  it.scoped("ends all streams normally", () =>
    Effect.gen(function* () {
      const { close, controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], resources: ["file:///x"] }) } }
      )
      const streams: ReadonlyArray<Stream.Stream<unknown, unknown>> = [
        supervisor.events,
        supervisor.eventsFrom(1),
        supervisor.changes,
        supervisor.catalogChanges,
        supervisor.logs("a"),
        supervisor.subscribeResource("a", "file:///x")
      ]
      const readers = yield* Effect.forEach(streams, (stream) => Effect.fork(Stream.runCollect(stream)))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.log("a line"))
      yield* close
      const [, , changes, catalogs, logs] = yield* Effect.forEach(readers, (reader) =>
        Effect.map(Effect.flatten(resultOf(reader)), Chunk.toReadonlyArray)
      )
      assert.deepStrictEqual(changes?.at(-1), [])
      assert.deepInclude(catalogs?.at(-1), { tools: [] })
      assert.deepInclude(logs?.[0], { text: "a line", source: "stderr" })
    })
  )

  it.scoped("ends streams that start later", () =>
    Effect.gen(function* () {
      const { close, supervisor } = yield* supervise({ servers: { a: local } })
      yield* close
      const streams: ReadonlyArray<Stream.Stream<unknown, unknown>> = [
        supervisor.events,
        supervisor.eventsFrom(1),
        supervisor.changes,
        supervisor.catalogChanges,
        supervisor.subscribeResource("a", "file:///x")
      ]
      for (const stream of streams) {
        const reader = yield* Effect.fork(Stream.runDrain(stream))
        yield* Effect.flatten(resultOf(reader))
      }
    })
  )
})

describe("the logs of a server", () => {
  it.scoped("stream the kept lines, then new ones, across restarts", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open() } }
      )
      const log = (number: number, text: string) =>
        Effect.flatMap(controls.awaitAttempt("a", number), (attempt) => attempt.log(text))
      for (let i = 1; i <= 1005; i++) yield* log(1, `line ${i}`)
      yield* supervisor.restart("a")
      const reader = yield* Effect.fork(Stream.runCollect(Stream.take(supervisor.logs("a"), 1001)))
      yield* settle
      yield* log(2, "after")
      const texts = Chunk.toReadonlyArray(yield* Effect.flatten(resultOf(reader))).map(({ text }) => text)
      assert.deepStrictEqual([texts[0], texts.at(-2), texts.at(-1)], ["line 6", "line 1005", "after"])
      yield* failsWith(Stream.runDrain(supervisor.logs("b")), "ServerNotFound")
    })
  )
})

describe("a part that hangs during the shutdown", () => {
  it.scoped("does not delay the end of the servers or the shutdown if it is a store", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(CatalogStore, {
        load: () => Effect.succeedNone,
        save: () => Effect.uninterruptible(Effect.never)
      })
      const { close, controls } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) }, store }
      )
      const closing = yield* Effect.forkDaemon(close)
      yield* settle
      assert.strictEqual(yield* controls.openSessions("a"), 0)
      yield* passed("5 seconds")
      assert.isTrue(yield* isOver(closing))
    })
  )

  it.scoped("does not block callers that wait for a server whose predecessor is closing", () =>
    Effect.gen(function* () {
      const slow = FakeConnector.closing(FakeConnector.open({ tools: ["x"] }), 2_000)
      const { close, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: { a: slow } })
      yield* Effect.forkDaemon(supervisor.remove("a"))
      yield* settle
      yield* supervisor.add("a", local)
      const logs = yield* Effect.forkDaemon(Stream.runDrain(supervisor.logs("a")))
      const connecting = yield* Effect.forkDaemon(supervisor.connect("a"))
      yield* settle
      assert.isFalse(yield* isOver(connecting))
      const closing = yield* Effect.forkDaemon(close)
      yield* passed("5 seconds")
      for (const each of [closing, logs, connecting]) assert.isTrue(yield* isOver(each))
    })
  )
})
