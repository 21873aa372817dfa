import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, TestClock } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import type * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { failsWith, isOver, local, passed, refused, remote, settle, supervise, superviseUnsettled } from "./support.js"

const many = (count: number, config: ServerConfig.Input = local) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, config]))

/** The servers whose first attempt has started. */
const begun = (lines: ReadonlyArray<string>) => lines.filter((line) => line.endsWith(" opening")).length

describe("building the layer", () => {
  it.scoped("does not wait for any server", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* superviseUnsettled(
        { servers: { a: local, b: local } },
        { scripts: { a: FakeConnector.hang, b: FakeConnector.open({ tools: ["x"] }) } }
      )
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, status }) => [name, status.status]),
        [
          ["a", "connecting"],
          ["b", "connecting"]
        ]
      )
      yield* settle
      const { tools } = yield* supervisor.catalog
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["b_x"]
      )
    })
  )

  it.scoped("succeeds without options and without servers", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise()
      assert.deepStrictEqual(yield* supervisor.servers, [])
      assert.deepStrictEqual(yield* supervisor.awaitSettled(), [])
      assert.strictEqual((yield* supervisor.catalog).revision, 0)
    })
  )

  it.scoped("shows an invalid entry as a failed server and runs the others", () =>
    Effect.gen(function* () {
      const { status, story } = yield* supervise(
        { servers: { bad: { command: "x", timeout: -1 }, good: local } },
        { scripts: { good: FakeConnector.open() } }
      )
      const bad = yield* status("bad")
      assert.strictEqual(bad.status, "failed")
      if (bad.status !== "failed") return
      assert.strictEqual(bad.errorTag, "InvalidConfig")
      assert.isUndefined(bad.retryAt)
      assert.include(bad.error, "timeout")
      assert.strictEqual((yield* status("good")).status, "connected")
      yield* passed("10 minutes")
      assert.deepStrictEqual(yield* story("bad"), [])
    })
  )

  it.scoped("fails for invalid defaults", () =>
    Effect.gen(function* () {
      const wrong = { servers: { a: local }, defaults: { timeout: -1 } }
      const error = yield* failsWith(supervise(wrong), "InvalidConfig")
      assert.deepStrictEqual(error.issues[0]?.path[0], "defaults")
      assert.isUndefined(error.server)
    })
  )

  it.scoped("ignores an entry that only switches a server", () =>
    Effect.gen(function* () {
      const { supervisor } = yield* supervise({ servers: { a: { enabled: false }, b: { ...local, enabled: false } } })
      const servers = yield* supervisor.servers
      assert.deepStrictEqual(
        servers.map(({ name, status }) => [name, status.status]),
        [["b", "disabled"]]
      )
    })
  )
})

describe("connecting", () => {
  it.scoped("reports connected after the lists were fetched", () =>
    Effect.gen(function* () {
      const lists = yield* Deferred.make<ReadonlyArray<string>>()
      const { snapshot, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: Deferred.await(lists) }) } }
      )
      const before = yield* snapshot("a")
      assert.deepInclude(before.status, { status: "connecting", phase: "discover" })
      assert.deepStrictEqual(yield* toolNames, [])
      yield* Deferred.succeed(lists, ["x"])
      const after = yield* snapshot("a")
      assert.deepInclude(after, {
        transport: "stdio",
        generation: 1,
        restarts: 0,
        tools: 1,
        protocolVersion: "2025-11-25"
      })
      assert.deepInclude(after.status, { status: "connected", tools: 1, era: "legacy", push: "open" })
    })
  )

  it.scoped("reports its phase", () =>
    Effect.gen(function* () {
      const { controls, eventsOf } = yield* supervise({ servers: { a: local } })
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.open({ tools: ["x"] })
      yield* settle
      const steps = eventsOf("StatusChanged").map(({ to }) => (to.status === "connecting" ? to.phase : to.status))
      assert.deepStrictEqual(steps, ["handshake", "discover", "connected"])
    })
  )

  it.scoped("includes the lists in the connect timeout", () =>
    Effect.gen(function* () {
      const { status } = yield* supervise(
        { servers: { a: { ...local, timeout: { connect: "10 seconds", list: "1 minute" } } } },
        { scripts: { a: FakeConnector.open({ latency: "6 seconds", tools: Effect.never }) } }
      )
      yield* passed("9999 millis")
      assert.deepInclude(yield* status("a"), { status: "connecting", phase: "discover" })
      yield* passed("1 millis")
      // the first restart is immediate
      assert.deepInclude(yield* status("a"), { status: "connecting", attempt: 2 })
    })
  )

  it.scoped("fetches a list again that failed once, and the catalog is never empty", () =>
    Effect.gen(function* () {
      let asked = 0
      const stumbling = Effect.suspend(() =>
        ++asked === 1
          ? Effect.fail(new Errors.ProtocolError({ server: "a", code: -32603, message: "not yet" }))
          : Effect.succeed(["x"])
      )
      const { eventsOf, snapshot, statuses, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: stumbling }) } }
      )
      yield* passed("100 millis")
      assert.strictEqual((yield* snapshot("a")).restarts, 0)
      assert.deepStrictEqual(statuses("a"), ["connected"])
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      assert.lengthOf(eventsOf("CatalogChanged"), 1)
    })
  )

  it.scoped("fails if the tools cannot be listed, but not if the prompts cannot", () =>
    Effect.gen(function* () {
      const error = new Errors.ProtocolError({ server: "a", code: -32603, message: "broken" })
      const { snapshot, status } = yield* supervise(
        { servers: { a: { ...local, restart: { maxRestarts: 0 } }, b: local } },
        {
          scripts: {
            a: FakeConnector.open({ tools: Effect.fail(error) }),
            b: FakeConnector.open({ tools: ["x"], prompts: Effect.fail(error) })
          }
        }
      )
      yield* passed("1 second")
      assert.deepInclude(yield* status("a"), { status: "failed", errorTag: "HandshakeRefused" })
      const b = yield* snapshot("b")
      assert.strictEqual(b.status.status, "connected")
      assert.deepStrictEqual(
        b.diagnostics.map(({ code }) => code),
        ["list_failed"]
      )
    })
  )

  it.scoped("requests additional headers before each attempt, and once more after a 401", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const headers = (server: string, reason: "connect" | "unauthorized") =>
        Effect.sync(() => {
          asked.push(`${server} ${reason}`)
          return { authorization: Redacted.make(`token ${asked.length}`) }
        })
      const unauthorized = new Errors.AuthRequired({ server: "a", reason: "401", login: true })
      const { controls, status } = yield* supervise(
        { servers: { a: remote, b: local }, headers },
        { scripts: { a: [FakeConnector.fail(unauthorized), FakeConnector.open()], b: FakeConnector.open() } }
      )
      assert.strictEqual((yield* status("a")).status, "connected")
      assert.deepStrictEqual(asked, ["a connect", "a unauthorized"])
      const { options } = yield* controls.awaitAttempt("a", 2)
      assert.strictEqual(options.config._tag, "Remote")
      if (options.config._tag !== "Remote") return
      assert.strictEqual(Redacted.value(options.config.headers.authorization as Redacted.Redacted), "token 2")
    })
  )

  it.scoped("sends the roots of the server's config, or else those for all servers", () =>
    Effect.gen(function* () {
      const { controls } = yield* supervise(
        { servers: { a: local, b: { ...local, roots: ["/own"] } }, roots: ["/all"] },
        { scripts: { a: FakeConnector.open(), b: FakeConnector.open() } }
      )
      const rootsOf = (server: string) => Effect.flatMap(controls.awaitAttempt(server), ({ roots }) => roots)
      assert.deepStrictEqual(yield* rootsOf("a"), [{ uri: "file:///all" }])
      assert.deepStrictEqual(yield* rootsOf("b"), [{ uri: "file:///own" }])
    })
  )
})

describe("starting many", () => {
  it.scoped("starts at most 8 processes at a time", () =>
    Effect.gen(function* () {
      const { controls, story } = yield* supervise({ servers: many(20) })
      assert.strictEqual(begun(yield* story()), 8)
      const first = yield* controls.awaitAttempt("s0")
      yield* first.open()
      assert.strictEqual(begun(yield* story()), 9)
      const second = yield* controls.awaitAttempt("s1")
      yield* second.fail(new Errors.SpawnFailed({ server: "s1", command: "x", reason: "not_found" }))
      assert.strictEqual(begun(yield* story()), 10)
    })
  )

  it.scoped("starts the connect timeout of a waiting server with its own start", () =>
    Effect.gen(function* () {
      const quick = { ...local, timeout: { connect: "2 seconds" }, restart: { maxRestarts: 0 } }
      const { snapshot, status, story } = yield* supervise({ servers: many(9, quick) })
      yield* passed("1999 millis")
      assert.strictEqual(begun(yield* story()), 8)
      yield* passed("1 millis")
      // the first 8 have used their 2 seconds, the ninth starts
      assert.strictEqual(begun(yield* story()), 9)
      assert.strictEqual((yield* status("s0")).status, "failed")
      yield* passed("1999 millis")
      assert.strictEqual((yield* snapshot("s8")).status.status, "connecting")
      yield* passed("1 millis")
      assert.deepInclude(yield* status("s8"), { status: "failed", errorTag: "ConnectTimeout" })
    })
  )

  it.scoped("frees the place of a server that hangs, and lets it continue", () =>
    Effect.gen(function* () {
      const { controls, status, story } = yield* supervise({ servers: many(9) })
      yield* passed("2999 millis")
      assert.strictEqual(begun(yield* story()), 8)
      yield* passed("1 millis")
      assert.strictEqual(begun(yield* story()), 9)
      const hanging = yield* controls.awaitAttempt("s0")
      assert.strictEqual(yield* hanging.stage, "opening")
      yield* hanging.open()
      assert.strictEqual((yield* status("s0")).status, "connected")
    })
  )

  it.scoped("delays others by one second when 64 remote servers hang, and not at all for a few dozen", () =>
    Effect.gen(function* () {
      const { controls, status, story } = yield* supervise({ servers: many(65, remote) })
      assert.strictEqual(begun(yield* story()), 64)
      yield* passed("999 millis")
      assert.strictEqual(begun(yield* story()), 64)
      yield* passed("1 millis")
      assert.strictEqual(begun(yield* story()), 65)
      const last = yield* controls.awaitAttempt("s64")
      yield* last.open()
      assert.strictEqual((yield* status("s64")).status, "connected")
    })
  )

  it.scoped("limits remote servers that fail at once to 128 attempts per second, first attempts first", () =>
    Effect.gen(function* () {
      const servers = many(200, remote)
      const scripts = Object.fromEntries(Object.keys(servers).map((name) => [name, FakeConnector.fail(refused(name))]))
      const { story } = yield* supervise({ servers }, { scripts })
      assert.strictEqual(begun(yield* story()), 64)
      for (const expected of [128, 192, 256, 320]) {
        yield* passed("500 millis")
        assert.strictEqual(begun(yield* story()), expected)
      }
      const attempts = (yield* story()).filter((line) => line.endsWith(" opening"))
      assert.isTrue(attempts.slice(0, 200).every((line) => line.includes("#1 ")))
      assert.isTrue(attempts.slice(200).every((line) => line.includes("#2 ")))
    })
  )

  it.scoped("does not wait for a server that is removed from the line", () =>
    Effect.gen(function* () {
      const { controls, story, supervisor } = yield* supervise({ servers: many(10) })
      const removing = yield* Effect.fork(supervisor.remove("s8"))
      assert.isTrue(yield* isOver(removing))
      yield* Fiber.join(removing)
      yield* Effect.flatMap(controls.awaitAttempt("s0"), (attempt) => attempt.open())
      assert.deepStrictEqual(yield* story("s8"), [])
      assert.deepStrictEqual(yield* story("s9"), ["s9#1 opening"])
    })
  )

  it.scoped("does not limit remote servers that connect", () =>
    Effect.gen(function* () {
      const { story } = yield* supervise({ servers: { ...many(8), r1: remote, r2: remote } })
      assert.deepStrictEqual(yield* story("r"), ["r1#1 opening", "r2#1 opening"])
    })
  )

  it.scoped("connects to a server that was down at first within one retry delay", () =>
    Effect.gen(function* () {
      let isThere = false
      const { controls, status } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: () => (isThere ? FakeConnector.open() : FakeConnector.fail(refused())) } }
      )
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* status("a")).status, "failed")
      isThere = true
      yield* passed("60 seconds")
      assert.strictEqual((yield* status("a")).status, "connected")
      assert.strictEqual(yield* controls.unclosed("a"), 1)
    })
  )
})
