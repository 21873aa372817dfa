import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Lifecycle, RestartPolicy } from "../../src/index.js"
import { failureOf, history, info, live, policy, settings } from "./lifecycleHistory.js"
import { often, always, mayRun, isRunning } from "./lifecycleMoments.js"

const parks = (kind: string) => kind !== "transient" && kind !== "session_lost" && kind !== "shortage"

describe("a server is retried", () => {
  it("with a fresh failure streak by a command, a new config or a login", () =>
    always(({ after, before, event }) => {
      if (event._tag === "Connect" && Lifecycle.opening(after) !== undefined)
        assert.strictEqual(after.streak.failures, 0)
      const fresh = ["Connect", "Restart", "ConfigChanged", "CredentialsChanged", "Enable"].includes(event._tag)
      if (!fresh || !isRunning(after) || !mayRun(after)) return
      const waited = before.phase._tag === "Stopped" || "failure" in (Lifecycle.pursuit(before) ?? {})
      const moves = Lifecycle.pursuit(after)?._tag === "Opening" || Lifecycle.pursuit(after)?._tag === "Pending"
      if ((waited && moves) || event._tag === "Restart") {
        assert.deepStrictEqual(after.streak, {
          failures: 0,
          restarts: [],
          gaveUp: undefined,
          last: undefined,
          shortages: 0
        })
      }
    }))

  it("after a shortage on this machine, without counting a failure or restart, and is never given up for it", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Lost" || event.failure.kind !== "shortage") return
      assert.isAtMost(after.streak.failures, before.streak.failures)
      assert.isAtMost(after.streak.restarts.length, before.streak.restarts.length)
      assert.strictEqual(after.restarts, before.restarts)
      const pursuit = Lifecycle.pursuit(after)
      // late events of an older link change nothing
      if (pursuit === Lifecycle.pursuit(before) || pursuit === undefined || !("failure" in pursuit)) return
      if (pursuit.failure !== event.failure) return
      assert.strictEqual(pursuit._tag, "Backoff")
      const retry = Lifecycle.timers(after).find(({ kind }) => kind === "retry")
      assert.isTrue(retry!.at >= event.at + 1000 && retry!.at < event.at + 16_000)
    }))

  it("by a login if it waited for one", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "CredentialsChanged" || event.revoked) return
      const pursuit = Lifecycle.pursuit(before)
      if (pursuit?._tag !== "Parked" || pursuit.failure.kind !== "auth") return
      assert.notStrictEqual(Lifecycle.pursuit(after)?._tag, "Parked")
    }))

  it("by any change of config that leaves it running", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || !isRunning(before) || !isRunning(after) || !mayRun(after)) return
      assert.notProperty(Lifecycle.pursuit(after) ?? {}, "failure")
    }))

  it("not before its Retry-After", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Lost" || event.failure.retryAfter === undefined) return
      const lost =
        event.generation === Lifecycle.opening(before) || event.generation === Lifecycle.routed(before)?.generation
      const replaced =
        Lifecycle.routed(before)?.generation === event.generation && Lifecycle.pursuit(before) !== undefined
      const timer = Lifecycle.timers(after).find(({ kind }) => kind !== "drain")
      if (lost && !replaced && event.failure.kind === "transient") {
        const cooldown = timer?.kind === "cooldown" ? before.settings.restart.cooldown : 0
        assert.isAtLeast(timer?.at ?? 0, event.at + Math.max(event.failure.retryAfter, cooldown))
      }
    }))

  it("not by a login that cannot help, but by one that completed while it was rejected", () =>
    always(({ after, before, event }) => {
      const pursuit = Lifecycle.pursuit(before)
      if (event._tag === "CredentialsChanged" && !event.revoked && pursuit !== undefined && "failure" in pursuit) {
        if (pursuit._tag !== "Parked" || pursuit.failure.kind !== "auth") assert.deepStrictEqual(after, before)
      }
      if (event._tag === "CredentialsChanged" && !event.revoked && pursuit?._tag === "Opening") {
        assert.deepInclude(Lifecycle.pursuit(after), { generation: pursuit.generation, loggedIn: true })
      }
      if (event._tag === "Lost" && pursuit?._tag === "Opening" && pursuit.generation === event.generation) {
        const refused = event.failure.kind === "auth"
        assert.strictEqual(
          Lifecycle.pursuit(after)?._tag === "Parked",
          parks(event.failure.kind) && !(refused && pursuit.loggedIn)
        )
      }
    }))

  it("once more if a login completed while it was rejected", () =>
    fc.assert(
      fc.property(history, ({ moves, settings }) => {
        const { at, end } = live(settings, moves)
        const generation = Lifecycle.opening(end)
        if (generation === undefined) return
        const stamp = { at, random: 0.5 }
        const refuse = (state: Lifecycle.State, generation: number) =>
          Lifecycle.step(state, { _tag: "Lost", ...stamp, generation, failure: failureOf("auth") }).state
        const loggedIn = Lifecycle.step(end, { _tag: "CredentialsChanged", ...stamp, revoked: false }).state
        const again = refuse(loggedIn, generation)
        assert.include(["Pending", "Opening"], Lifecycle.pursuit(again)?._tag)
        const next = again.closing.reduce(
          (state, generation) => Lifecycle.step(state, { _tag: "Released", ...stamp, generation }).state,
          again
        )
        const second = Lifecycle.opening(next)
        if (second !== undefined) assert.strictEqual(Lifecycle.pursuit(refuse(next, second))?._tag, "Parked")
      }),
      often
    ))

  it("at once after a lost session, unless the previous session was also lost", () =>
    fc.assert(
      fc.property(
        policy,
        fc.nat({ max: 5 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (policy, crashes, random) => {
          const restart = { ...policy, maxRestarts: Number.POSITIVE_INFINITY }
          let { state } = Lifecycle.start({ server: "s", restart, lazy: false, replace: "overlap", drain: 1 }, 0)
          const lose = (kind: "transient" | "session_lost") => {
            const { generation } = state
            if (kind === "session_lost")
              state = Lifecycle.step(state, { _tag: "Opened", at: 0, random, generation, info }).state
            state = Lifecycle.step(state, { _tag: "Lost", at: 0, random, generation, failure: failureOf(kind) }).state
            state = Lifecycle.step(state, { _tag: "Released", at: 0, random, generation }).state
            const [timer] = Lifecycle.timers(state)
            if (timer) state = Lifecycle.step(state, { _tag: "TimerFired", at: 0, random, timer: timer.id }).state
            return timer?.at ?? 0
          }
          for (let crash = 0; crash < crashes; crash++) lose("transient")
          assert.strictEqual(lose("session_lost"), 0)
          assert.strictEqual(lose("session_lost"), RestartPolicy.delay(restart, crashes + 2, random))
          lose("transient")
          assert.strictEqual(lose("session_lost"), 0)
        }
      ),
      often
    ))
})

describe("a revoked login", () => {
  it("closes every link", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "CredentialsChanged" || !event.revoked) return
      assert.isUndefined(Lifecycle.routed(after))
      if (Lifecycle.opening(before) !== undefined)
        assert.notStrictEqual(Lifecycle.opening(after), Lifecycle.opening(before))
    }))
})

describe("a lazy server", () => {
  it("is not opened when it is added or enabled", () => {
    fc.assert(
      fc.property(settings, (settings) => {
        const { actions, state } = Lifecycle.start({ ...settings, lazy: true }, 0)
        assert.deepStrictEqual(actions, [])
        assert.notStrictEqual(state.phase._tag, "Seeking")
      }),
      often
    )
    always(({ after, before, event }) => {
      if (event._tag !== "Enable" || before.phase._tag !== "Stopped" || !after.settings.lazy) return
      if (mayRun(after)) assert.strictEqual(after.phase._tag, "Resting")
    })
  })

  it("that is idle has no failure streak", () =>
    fc.assert(
      fc.property(settings, fc.integer({ min: 1, max: 4 }), ({ disabled: _, ...settings }, crashes) => {
        const stamp = { at: 0, random: 0.5 }
        let { state } = Lifecycle.start({ ...settings, lazy: true }, 0)
        const happens = (event: Lifecycle.Event) => {
          state = Lifecycle.step(state, event).state
        }
        happens({ _tag: "Demanded", ...stamp })
        for (let crash = 0; crash < crashes; crash++) {
          const { generation } = state
          happens({ _tag: "Lost", ...stamp, generation, failure: failureOf("transient") })
          happens({ _tag: "Released", ...stamp, generation })
          for (const { id } of Lifecycle.timers(state)) happens({ _tag: "TimerFired", ...stamp, timer: id })
        }
        happens({ _tag: "Opened", ...stamp, generation: state.generation, info })
        assert.strictEqual(state.streak.failures, crashes)
        happens({ _tag: "Idle", ...stamp, generation: state.generation })
        assert.strictEqual(state.phase._tag, "Resting")
        assert.strictEqual(state.streak.failures, 0)
      }),
      often
    ))

  it("that is idle is started by a demand", () =>
    always(({ after, before, event }) => {
      if (before.phase._tag === "Resting" && event._tag === "Demanded") assert.strictEqual(after.phase._tag, "Seeking")
    }))

  it("that is idle is only started by a demand, a command or a config that is no longer lazy", () =>
    always(({ after, before, event }) => {
      if (before.phase._tag !== "Resting" || !isRunning(after)) return
      assert.include(["Demanded", "Connect", "Restart", "ConfigChanged"], event._tag)
      if (event._tag === "ConfigChanged") assert.isFalse(event.settings.lazy && event.settings.invalid === undefined)
    }))

  it("becomes idle only by itself, without a replacement, and only if it is lazy", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Idle") return
      const rests =
        before.settings.lazy &&
        before.phase._tag === "Serving" &&
        before.phase.replacement === undefined &&
        before.phase.routed.generation === event.generation
      if (rests) {
        assert.strictEqual(after.phase._tag, "Resting")
        assert.strictEqual(after.draining?.generation, event.generation)
        assert.strictEqual(after.streak.failures, 0)
      } else assert.deepStrictEqual(after, before)
    }))
})

describe("a server that keeps crashing", () => {
  const eager = settings.map(({ disabled: _, ...rest }) => ({ ...rest, lazy: false }))

  it("is given up exactly when there were more restarts in the window than allowed, and then tried once per cooldown", () =>
    fc.assert(
      fc.property(
        eager,
        policy,
        fc.array(
          fc.record({
            uptime: fc.option(fc.nat({ max: 6_000 })),
            attempt: fc.nat({ max: 500 }),
            random: fc.double({ min: 0, max: 0.99, noNaN: true })
          }),
          { minLength: 1, maxLength: 30 }
        ),
        (settings, restart, crashes) => {
          let at = 0
          let { state } = Lifecycle.start({ ...settings, restart }, at)
          let restartedAt: Array<number> = []
          let tripped = false
          for (const { attempt, random, uptime } of crashes) {
            const generation = state.generation
            assert.strictEqual(Lifecycle.opening(state), generation)
            at += attempt
            if (uptime !== null) {
              state = Lifecycle.step(state, { _tag: "Opened", at, random, generation, info }).state
              at += uptime
              if (uptime >= restart.stableAfter) tripped = false
            }
            state = Lifecycle.step(state, {
              _tag: "Lost",
              at,
              random,
              generation,
              failure: failureOf("transient")
            }).state
            restartedAt = restartedAt.filter((time) => time > at - restart.window)
            const givesUp: boolean = tripped || restartedAt.length >= restart.maxRestarts
            const [timer] = Lifecycle.timers(state)
            assert.strictEqual(timer?.kind === "cooldown", givesUp)
            if (givesUp) assert.strictEqual(timer?.at, at + restart.cooldown)
            tripped = givesUp
            state = Lifecycle.step(state, { _tag: "Released", at, random, generation }).state
            if (timer !== undefined) {
              at = timer.at
              state = Lifecycle.step(state, { _tag: "TimerFired", at, random, timer: timer.id }).state
            }
            restartedAt.push(at)
          }
          assert.strictEqual(state.restarts, crashes.length)
        }
      ),
      often
    ))

  it("waits at most as long as the policy's bound for its streak, and not at all after the first failure", () =>
    fc.assert(
      fc.property(
        eager,
        fc.integer({ min: 1, max: 20 }),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        (settings, crashes, random) => {
          const restart = { ...settings.restart, maxRestarts: Number.POSITIVE_INFINITY }
          let { state } = Lifecycle.start({ ...settings, restart }, 0)
          for (let failures = 1; failures <= crashes; failures++) {
            const { generation } = state
            state = Lifecycle.step(state, {
              _tag: "Lost",
              at: 0,
              random,
              generation,
              failure: failureOf("transient")
            }).state
            const [timer] = Lifecycle.timers(state)
            assert.strictEqual(timer?.at ?? 0, Math.floor(RestartPolicy.ceiling(restart, failures) * random))
            state = Lifecycle.step(state, { _tag: "Released", at: 0, random, generation }).state
            if (timer) state = Lifecycle.step(state, { _tag: "TimerFired", at: 0, random, timer: timer.id }).state
          }
        }
      ),
      often
    ))
})
