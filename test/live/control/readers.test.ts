/** Those who ask for what a server writes and do not read it; and what the supervisor says of itself. */
import * as OpenApi from "@effect/platform/OpenApi"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Logger, Scope, Stream } from "effect"
import { ControlApi } from "../../../src/control/ControlApi.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { controlled, idler, local } from "../support/control.js"
import { heldBytes, megabyte } from "../support/memory.js"

const quiet = Logger.remove(Logger.defaultLogger)

const setup = (name = "one") =>
  Effect.gen(function* () {
    const harness = yield* controlled({
      supervisor: { servers: { [name]: local } },
      scripts: { [name]: FakeConnector.open({ tools: ["greet", "fail"] }) }
    })
    yield* harness.supervisor.awaitSettled()
    return harness
  }).pipe(Effect.provide(quiet))

describe("the log stream of a server", () => {
  it.scopedLive(
    "buffers nothing for clients that do not read, which delay no other client and end with the supervisor",
    () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { ask, client, fake, server } = yield* Scope.extend(setup(), scope)
        const attempt = yield* fake.controls.awaitAttempt("one")
        yield* Effect.forEach(Array.from({ length: 10 }), () => idler(server.address, "/servers/one/logs"), {
          concurrency: 10
        })
        // a client that reads receives every line
        let heard = 0
        let awaited = yield* Deferred.make<void>()
        yield* Stream.runForEach(client.logs("one"), ({ text }) => {
          heard += 1
          return text.startsWith("last") ? Deferred.succeed(awaited, undefined) : Effect.void
        }).pipe(Effect.fork)
        const line = "x".repeat(4000)
        const rounds = 20
        const write = Effect.gen(function* () {
          awaited = yield* Deferred.make<void>()
          for (let count = 0; count < 499; count++) yield* attempt.log(line)
          yield* attempt.log(`last${line}`)
          yield* Deferred.await(awaited)
        })
        for (let round = 0; round < 5; round++) yield* write
        const before = heldBytes()
        let most = 0
        for (let round = 5; round < rounds; round++) {
          yield* write
          most = Math.max(most, heldBytes() - before)
        }
        assert.strictEqual(heard, rounds * 500)
        // the ten did not read 30 MB each since then
        assert.isBelow(most, 48 * megabyte)
        assert.strictEqual((yield* ask("/servers/one/logs")).json.length, 1000)
        const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
        assert.isBelow(Duration.toMillis(took), 8000)
      })
  )
})

describe("the metrics", () => {
  it.scopedLive("count successful and failed calls, for servers with any name", () =>
    Effect.gen(function* () {
      const name = 'of "this" \\ test'
      const { ask, client, fake, supervisor } = yield* setup(name)
      const attempt = yield* fake.controls.awaitAttempt(name)
      yield* attempt.set({ calls: { fail: Effect.succeed(FakeConnector.errorText("no")) } })
      const call = (raw: string) =>
        Effect.gen(function* () {
          const tool = (yield* supervisor.catalog).tools.find(({ rawName }) => rawName === raw)
          return yield* client.catalog.call({ path: { name: tool!.name }, payload: {} })
        })
      yield* call("greet")
      yield* call("greet")
      assert.isTrue((yield* call("fail")).isError)
      const answer = yield* ask("/metrics")
      assert.strictEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
      const lines = answer.text.split("\n")
      const escaped = String.raw`mcp_server="of \"this\" \\ test"`
      assert.includeMembers(lines, [
        "# TYPE mcp_call_duration_ms histogram",
        `mcp_call_duration_ms_count{${escaped},outcome="ok"} 2`,
        `mcp_call_duration_ms_count{${escaped},outcome="error"} 1`,
        `mcp_call_duration_ms_bucket{${escaped},outcome="ok",le="+Inf"} 2`,
        `mcp_calls_in_flight{${escaped}} 0`
      ])
      assert.isTrue(lines.some((line) => /^mcp_connections\{status="connected"\} [1-9]/.test(line)))
      yield* attempt.crash()
      yield* supervisor.connect(name)
      const later = (yield* ask("/metrics")).text.split("\n")
      assert.include(later, "# TYPE mcp_restarts_total counter")
      assert.include(later, `mcp_restarts_total{${escaped}} 1`)
      // every line is one, whatever a server is called
      for (const each of later) assert.match(each, /^$|^# (HELP|TYPE) \S+ .*$|^[a-z_]+(\{.*\})? [\d.e+-]+$/)
    })
  )
})

describe("GET /openapi.json", () => {
  it.scopedLive("returns the document that describes all routes", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup()
      const answer = yield* ask("/openapi.json")
      assert.match(answer.headers["content-type"] ?? "", /^application\/json/)
      assert.deepStrictEqual(answer.json, JSON.parse(JSON.stringify(OpenApi.fromApi(ControlApi))))
      assert.strictEqual(answer.json.openapi, "3.1.0")
      assert.property(answer.json.paths, "/tools/{name}/call")
    })
  )
})
