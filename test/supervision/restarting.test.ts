import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, local, notFound, passed, refused, remote, settle, supervise, withRandom } from "./support.js"

/** The start times of a server's attempts. */
const beginnings = ({ controls }: Pick<FakeConnector.FakeConnector, "controls">, server = "a") =>
  Effect.map(controls.journal, (entries) =>
    entries.filter((entry) => entry.type === "opening" && entry.server === server).map(({ at }) => at)
  )

describe("a server that is lost", () => {
  it.scoped("is reconnected at once without a command", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, snapshot, statuses } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      const after = yield* snapshot("a")
      assert.strictEqual(after.status.status, "connected")
      assert.deepInclude(after, { generation: 2, restarts: 1 })
      assert.deepStrictEqual(statuses("a"), ["connected", "connecting", "connected"])
      const lost = eventsOf("StatusChanged").filter(({ from }) => from.status === "connected")
      assert.lengthOf(lost, 1)
    })
  )

  it.scoped("is reconnected after everything of the old connection is released", () =>
    Effect.gen(function* () {
      const { controls, story } = yield* supervise({ servers: { a: local } }, { scripts: { a: FakeConnector.open() } })
      for (let i = 1; i <= 3; i++) {
        yield* Effect.flatMap(controls.awaitAttempt("a", i), (attempt) => attempt.crash(closed()))
        yield* passed("2 minutes")
      }
      assert.strictEqual(yield* controls.unclosed(), 1)
      const order = (yield* story("a#")).filter((line) => / (opening|closed)$/.test(line))
      assert.deepStrictEqual(order, [
        "a#1 opening",
        "a#1 closed",
        "a#2 opening",
        "a#2 closed",
        "a#3 opening",
        "a#3 closed",
        "a#4 opening"
      ])
    })
  )

  it.scoped("is restarted after growing delays", () =>
    Effect.gen(function* () {
      const { fake, status } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.fail(refused()) } }
      )
      assert.deepInclude(yield* status("a"), { status: "failed", failures: 2, retryAt: 250, errorTag: "NetworkFailed" })
      yield* passed("8 seconds")
      assert.deepStrictEqual(yield* beginnings(fake), [0, 0, 250, 750, 1750, 3750, 7750])
    }).pipe(withRandom(0.5))
  )

  it.scoped("is restarted within the cap", () =>
    Effect.gen(function* () {
      const { fake } = yield* supervise(
        { servers: { a: { ...remote, restart: { base: 1000, cap: 3000 } } } },
        { scripts: { a: FakeConnector.fail(refused()) } }
      )
      yield* passed("10 seconds")
      assert.deepStrictEqual(yield* beginnings(fake), [0, 0, 500, 1500, 3000, 4500, 6000, 7500, 9000])
    }).pipe(withRandom(0.5))
  )

  it.scoped("is restarted no earlier than its Retry-After", () =>
    Effect.gen(function* () {
      const busy = new Errors.HttpFailed({ server: "a", status: 503, retryAfter: 45_000 })
      const { fake, status } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [FakeConnector.fail(busy), FakeConnector.open()] } }
      )
      assert.deepInclude(yield* status("a"), { status: "failed", failures: 1, retryAt: 45_000 })
      yield* passed("44999 millis")
      assert.deepStrictEqual(yield* beginnings(fake), [0])
      yield* passed("1 millis")
      assert.strictEqual((yield* status("a")).status, "connected")
    }).pipe(withRandom(0.5))
  )

  it.scoped("is reconnected at once after a lost session", () =>
    Effect.gen(function* () {
      const lost = new Errors.SessionLost({ server: "a" })
      const { controls, fake, snapshot } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      yield* passed("10 seconds")
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(lost))
      assert.strictEqual((yield* snapshot("a")).status.status, "connected")
      assert.deepStrictEqual(yield* beginnings(fake), [0, 10_000])
    }).pipe(withRandom(0.5))
  )
})

describe("a server that is lost again and again", () => {
  const crashing = { a: FakeConnector.openThenCrash("2 seconds", closed(), { tools: ["x"] }) }

  it.scoped("is given up with a reason, and retried once after the cooldown", () =>
    Effect.gen(function* () {
      const { fake, snapshot, status } = yield* supervise({ servers: { a: local } }, { scripts: crashing })
      yield* passed("50 seconds")
      const given = yield* status("a")
      assert.strictEqual(given.status, "failed")
      if (given.status !== "failed") return
      assert.include(given.gaveUp, "more than 5 restarts")
      assert.strictEqual(given.errorTag, "ConnectionClosed")
      assert.strictEqual((yield* snapshot("a")).restarts, 5)
      const before = yield* beginnings(fake)
      assert.lengthOf(before, 6)
      const again = given.retryAt! - 50_000
      yield* passed(again - 1)
      assert.lengthOf(yield* beginnings(fake), 6)
      yield* passed(1)
      assert.strictEqual((yield* status("a")).status, "connected")
      // half-open: after one more failure, it waits again
      yield* passed("2 seconds")
      assert.deepInclude(yield* status("a"), { status: "failed", retryAt: given.retryAt! + 302_000 })
      assert.lengthOf(yield* beginnings(fake), 7)
    }).pipe(withRandom(0.5))
  )

  it.scoped("has its failure streak reset by a restart command", () =>
    Effect.gen(function* () {
      const { status, supervisor } = yield* supervise({ servers: { a: local } }, { scripts: crashing })
      yield* passed("50 seconds")
      assert.property(yield* status("a"), "gaveUp")
      assert.strictEqual((yield* supervisor.restart("a")).status, "connected")
      yield* passed("2 seconds")
      assert.strictEqual((yield* status("a")).status, "connected")
    }).pipe(withRandom(0.5))
  )

  it.scoped("has its failure streak reset only by enough uptime", () =>
    Effect.gen(function* () {
      const crashes = (uptime: number) => FakeConnector.openThenCrash(uptime, closed())
      const { fake } = yield* supervise(
        { servers: { a: { ...remote, health: false } } },
        { scripts: { a: [crashes(1000), crashes(59_999), crashes(60_000), crashes(1000), FakeConnector.open()] } }
      )
      yield* passed("3 minutes")
      assert.deepStrictEqual(yield* beginnings(fake), [
        0,
        // the first restart is immediate
        1000,
        // 59.999 seconds are not enough: the second delay of the streak
        1000 + 59_999 + 250,
        // 60 seconds are enough
        1000 + 59_999 + 250 + 60_000,
        1000 + 59_999 + 250 + 60_000 + 1000 + 250
      ])
    }).pipe(withRandom(0.5))
  )
})

describe("a permanent failure", () => {
  const faults = [
    ["a command that is not there", notFound(), "failed"],
    ["an address without MCP", new Errors.IncompatibleServer({ server: "a", detail: "HTML" }), "failed"],
    ["a certificate", new Errors.NetworkFailed({ server: "a", code: "CERT_HAS_EXPIRED", permanent: true }), "failed"],
    ["HTTP 404", new Errors.HttpFailed({ server: "a", status: 404 }), "failed"],
    ["a login", new Errors.AuthRequired({ server: "a", reason: "401", login: true }), "needs_auth"],
    ["a registration", new Errors.RegistrationRequired({ server: "a", detail: "no" }), "needs_client_registration"]
  ] as const

  for (const [what, error, expected] of faults) {
    it.scoped(`is not retried before a command: ${what}`, () =>
      Effect.gen(function* () {
        const { fake, snapshot, status, supervisor } = yield* supervise(
          { servers: { a: remote } },
          { scripts: { a: [FakeConnector.fail(error), FakeConnector.open()] } }
        )
        const parked = yield* status("a")
        assert.strictEqual(parked.status, expected)
        assert.notProperty(parked, "retryAt")
        yield* passed("2 hours")
        assert.lengthOf(yield* beginnings(fake), 1)
        assert.strictEqual((yield* supervisor.connect("a")).status, "connected")
        assert.strictEqual((yield* snapshot("a")).restarts, 0)
      })
    )
  }

  it.scoped("of a server that needs a login says what helps", () =>
    Effect.gen(function* () {
      const error = new Errors.AuthRequired({ server: "a", reason: "token expired", scope: "mail", login: true })
      const { status } = yield* supervise({ servers: { a: remote } }, { scripts: { a: FakeConnector.fail(error) } })
      assert.deepStrictEqual(yield* status("a"), {
        status: "needs_auth",
        reason: "token expired",
        scope: "mail",
        hint: "log in: mcp-supervisor auth a"
      })
    })
  )

  it.scoped("of a process that exited shows how it exited", () =>
    Effect.gen(function* () {
      const error = new Errors.ProcessExited({ server: "a", phase: "spawn", exitCode: 127, stderr: "no such file" })
      const { status } = yield* supervise({ servers: { a: local } }, { scripts: { a: FakeConnector.fail(error) } })
      assert.deepInclude(yield* status("a"), { status: "failed", exitCode: 127, stderr: "no such file", failures: 1 })
    })
  )

  it.scoped("is the status of a server whose login is lost while it is connected", () =>
    Effect.gen(function* () {
      const { controls, fake, status, toolNames } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const error = new Errors.AuthRequired({ server: "a", reason: "revoked", login: true })
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(error))
      assert.strictEqual((yield* status("a")).status, "needs_auth")
      assert.deepStrictEqual(yield* toolNames, [])
      yield* passed("10 minutes")
      assert.lengthOf(yield* beginnings(fake), 1)
    })
  )
})

describe("five servers with different failures", () => {
  it.scoped("leave the healthy one usable, and have different statuses", () =>
    Effect.gen(function* () {
      const { close, controls, status, supervisor, toolNames } = yield* supervise(
        { servers: { healthy: local, crashes: local, hangs: local, login: remote, strange: remote } },
        {
          scripts: {
            healthy: FakeConnector.open({ tools: ["x"] }),
            crashes: FakeConnector.failAfter(
              "1 second",
              new Errors.ProcessExited({ server: "crashes", phase: "handshake", exitCode: 1 })
            ),
            hangs: FakeConnector.hang,
            login: FakeConnector.fail(new Errors.AuthRequired({ server: "login", reason: "401", login: true })),
            strange: FakeConnector.fail(new Errors.IncompatibleServer({ server: "strange", detail: "bad JSON" }))
          }
        }
      )
      yield* passed("2400 millis")
      const statuses = yield* Effect.forEach(["healthy", "crashes", "hangs", "login", "strange"], status)
      assert.deepStrictEqual(
        statuses.map((each) => ("errorTag" in each ? each.errorTag : each.status)),
        ["connected", "ProcessExited", "connecting", "needs_auth", "IncompatibleServer"]
      )
      assert.deepStrictEqual(yield* toolNames, ["healthy_x"])
      yield* supervisor.callTool("healthy_x")
      yield* close
      yield* settle
      assert.strictEqual(yield* controls.unclosed(), 0)
    }).pipe(withRandom(0.9))
  )
})
