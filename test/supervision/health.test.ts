import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Random } from "effect"
import { FakeConnector } from "../../src/testing/Testing.js"
import { closed, failureOf, local, passed, remote, resultOf, supervise, withRandom } from "./support.js"

const probes = ({ controls }: Pick<FakeConnector.FakeConnector, "controls">) =>
  Effect.map(controls.journal, (entries) => entries.filter(({ type }) => type === "probed").map(({ at }) => at))

/** The clock of the test, whose wall time can run ahead as after a sleep of the machine. */
const sleepingClock = Effect.map(Effect.clock, (clock) => {
  let slept = 0
  const wall: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + slept,
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(() => clock.unsafeCurrentTimeMillis() + slept),
    currentTimeNanos: clock.currentTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  return {
    clock: wall,
    sleep: (millis: number) =>
      Effect.sync(() => {
        slept += millis
      })
  }
})

describe("health checks", () => {
  it.scoped("probe an idle connection within each interval", () =>
    Effect.gen(function* () {
      const { fake, status } = yield* supervise({ servers: { a: remote } }, { scripts: { a: FakeConnector.open() } })
      yield* passed("2 minutes")
      assert.deepStrictEqual(yield* probes(fake), [26_250, 52_500, 78_750, 105_000])
      assert.strictEqual((yield* status("a")).status, "connected")
    }).pipe(withRandom(0.5))
  )

  it.scoped("find and reconnect an unresponsive server within interval and timeout", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, snapshot } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [FakeConnector.open({ probe: Effect.never }), FakeConnector.open()] } }
      )
      yield* passed("35 seconds")
      const after = yield* snapshot("a")
      assert.strictEqual(after.status.status, "connected")
      assert.strictEqual(after.generation, 2)
      const lost = eventsOf("StatusChanged").find(({ from }) => from.status === "connected")
      assert.isAtMost(lost!.at, 35_000)
      assert.strictEqual(yield* controls.unclosed(), 1)
    }).pipe(withRandom(0.999))
  )

  it.scoped("reconnect after a probe that fails at once", () =>
    Effect.gen(function* () {
      const { snapshot } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [FakeConnector.open({ probe: Effect.fail(closed()) }), FakeConnector.open()] } }
      )
      yield* passed("26250 millis")
      assert.deepInclude(yield* snapshot("a"), { generation: 2, restarts: 1 })
    }).pipe(withRandom(0.5))
  )

  it.scoped("never probe with `health: false`", () =>
    Effect.gen(function* () {
      const { fake } = yield* supervise(
        { servers: { a: { ...remote, health: false } } },
        { scripts: { a: FakeConnector.open({ probe: Effect.never }) } }
      )
      yield* passed("10 minutes")
      assert.deepStrictEqual(yield* probes(fake), [])
    })
  )

  it.scoped("count a call as a sign of life", () =>
    Effect.gen(function* () {
      const { fake, supervisor } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      for (let i = 0; i < 6; i++) {
        yield* passed("20 seconds")
        yield* supervisor.callTool("a_x")
      }
      assert.deepStrictEqual(yield* probes(fake), [])
    }).pipe(withRandom(0.5))
  )

  it.scoped("never probe during a call, however long it takes", () =>
    Effect.gen(function* () {
      const { controls, fake, supervisor } = yield* supervise(
        { servers: { a: { ...local, timeout: { call: "10 minutes" } } } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never }, probe: Effect.never }) } }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      const pending = yield* controls.awaitCall("a")
      yield* passed("5 minutes")
      assert.deepStrictEqual(yield* probes(fake), [])
      yield* pending.answer(FakeConnector.text("done"))
      yield* Fiber.join(call)
    })
  )

  it.scoped("probe once after a call timed out, and keep a server that answers", () =>
    Effect.gen(function* () {
      const { fake, snapshot, supervisor } = yield* supervise(
        { servers: { a: { ...remote, health: { interval: "1 hour", timeout: "5 seconds" } } } },
        { scripts: { a: FakeConnector.open({ tools: ["x"], calls: { x: Effect.never } }) } }
      )
      const calls = yield* Effect.forEach([1, 2, 3], () => Effect.fork(supervisor.callTool("a_x")))
      yield* passed("30 seconds")
      for (const call of calls) {
        assert.deepInclude(failureOf(yield* resultOf(call), "CallTimeout"), { which: "idle", sent: true })
      }
      assert.isAtLeast((yield* probes(fake)).length, 1)
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("replace an unresponsive server within the probe's timeout after a call timed out", () =>
    Effect.gen(function* () {
      const hole = FakeConnector.open({ tools: ["x"], calls: { x: Effect.never }, probe: Effect.never })
      const { fake, snapshot, supervisor } = yield* supervise(
        { servers: { a: { ...remote, health: { interval: "1 hour", timeout: "5 seconds" } } } },
        { scripts: { a: [hole, FakeConnector.open({ tools: ["x"] })] } }
      )
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* passed("30 seconds")
      failureOf(yield* resultOf(call), "CallTimeout")
      assert.deepStrictEqual(yield* probes(fake), [30_000])
      yield* passed("4999 millis")
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
      yield* passed("1 millis")
      assert.deepInclude(yield* snapshot("a"), { generation: 2 })
      yield* supervisor.callTool("a_x")
    })
  )

  it.scoped("use new settings without a new connection", () =>
    Effect.gen(function* () {
      const { fake, supervisor } = yield* supervise(
        { servers: { a: { ...remote, health: false } } },
        { scripts: { a: FakeConnector.open() } }
      )
      yield* passed("5 minutes")
      const plan = yield* supervisor.reconcile({ servers: { a: { ...remote, health: { interval: "10 seconds" } } } })
      assert.deepStrictEqual(plan.update, ["a"])
      yield* passed("5 seconds")
      assert.deepStrictEqual(yield* probes(fake), [300_000])
    })
  )
})

describe("after the machine slept", () => {
  /** Two servers that were used at second 40, and the number of probes of each until second 63. */
  const afterUse = (slept: number) =>
    Effect.gen(function* () {
      const { clock, sleep } = yield* sleepingClock
      const open = FakeConnector.open({ tools: ["x"] })
      const { controls, snapshot, supervisor } = yield* supervise(
        { servers: { a: remote, b: remote }, defaults: { health: { interval: "1 minute", timeout: "5 seconds" } } },
        { scripts: { a: open, b: open }, clock }
      )
      yield* passed("40 seconds")
      for (const tool of ["a_x", "b_x"]) yield* supervisor.callTool(tool)
      yield* sleep(slept)
      yield* passed("23 seconds")
      const probed = (yield* controls.journal).filter(({ type }) => type === "probed")
      for (const server of ["a", "b"]) {
        assert.deepInclude(yield* snapshot(server), { generation: 1, restarts: 0 })
      }
      return probed
    })

  it.scoped("each server is probed once, and not all at the same moment", () =>
    Effect.gen(function* () {
      const probed = yield* afterUse(8 * 3_600_000)
      assert.deepStrictEqual(probed.map(({ server }) => server).toSorted(), ["a", "b"])
      assert.notStrictEqual(probed[0]?.at, probed[1]?.at)
    }).pipe(Effect.withRandom(Random.make("wake")))
  )

  it.scoped("no server is probed if it did not sleep", () =>
    Effect.map(afterUse(0), (probed) => assert.deepStrictEqual(probed, [])).pipe(Effect.withRandom(Random.make("wake")))
  )

  it.scoped("a probe that was pending during the sleep is repeated before it counts", () =>
    Effect.gen(function* () {
      const { clock, sleep } = yield* sleepingClock
      let asked = 0
      const probe = Effect.suspend(() => (++asked === 1 ? Effect.never : Effect.void))
      const { snapshot } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: FakeConnector.open({ probe }) }, clock }
      )
      yield* passed("26250 millis")
      assert.strictEqual(asked, 1)
      yield* sleep(3_600_000)
      yield* passed("5 seconds")
      assert.strictEqual(asked, 2)
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    }).pipe(withRandom(0.5))
  )
})
