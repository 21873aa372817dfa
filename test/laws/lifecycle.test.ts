import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck as fc } from "effect"
import { Lifecycle, RestartPolicy, ServerStatus } from "../../src/index.js"
import {
  failureOf,
  history,
  info,
  live,
  liveGenerations,
  type Moment,
  move,
  policy,
  settings,
  toEvent
} from "./lifecycleHistory.js"
import { runs } from "./runs.js"

const often = runs(300)

/** Checks something of every moment of many lives. */
const always = (check: (moment: Moment) => void) =>
  fc.assert(
    fc.property(history, ({ moves, settings }) => live(settings, moves).moments.forEach(check)),
    often
  )

/** Whether anything could start it: trust and a usable config cannot be replaced by a command. */
const mayRun = ({ phase, settings }: Lifecycle.State) =>
  phase._tag !== "Removed" && settings.disabled !== "trust" && settings.invalid === undefined

const isRunning = ({ phase }: Lifecycle.State) => phase._tag === "Seeking" || phase._tag === "Serving"

const tagsOf = (actions: ReadonlyArray<Lifecycle.Action>) => actions.map(({ _tag }) => _tag)

/** What must be true of a state, however it came about. */
const assertLegal = (after: Lifecycle.State) => {
  const { closing, draining, generation, intent, phase, settings, streak, timer } = after
  const live = liveGenerations(after)
  assert.strictEqual(new Set(live).size, live.length, "a generation is in two places")
  for (const each of live) assert.isTrue(each >= 1 && each <= generation, "an unknown generation")
  if (settings.disabled === "trust" && phase._tag !== "Removed") assert.strictEqual(phase._tag, "Stopped")
  assert.include(["config", "up", "down"], intent, "an unknown intent")
  if (phase._tag === "Resting") assert.isTrue(settings.lazy, "an eager server rests")
  if (!isRunning(after))
    assert.deepStrictEqual(
      Lifecycle.timers(after).filter(({ kind }) => kind !== "drain"),
      []
    )
  if (phase._tag === "Removed" || phase._tag === "Stopped") {
    assert.isUndefined(draining, "something drains where nothing is wanted")
  }
  if (Lifecycle.pursuit(after)?._tag === "Pending") {
    const waits = closing.length > 0 || (settings.replace === "stop-first" && draining !== undefined)
    assert.isTrue(waits, "nothing holds it back, and yet it waits")
  }
  for (const { id } of Lifecycle.timers(after)) assert.isTrue(id <= timer)
  assert.deepStrictEqual(
    streak.restarts,
    streak.restarts.toSorted((a, b) => a - b)
  )
  if (phase._tag === "Seeking" && "failure" in phase.pursuit) {
    assert.isTrue(streak.failures > 0 || phase.pursuit.failure.kind === "shortage")
  }
}

describe("every reachable state", () => {
  it("is legal", () => always(({ after }) => assertLegal(after)))

  it("has at most one routed, one opening and one draining link, and three in all with those that close", () =>
    always(({ after }) => assert.isTrue(liveGenerations(after).length <= 3)))

  it("never opens beside another link when it must be alone", () =>
    always(({ actions, after }) => {
      if (after.settings.replace === "stop-first" && tagsOf(actions).includes("Open")) {
        assert.deepStrictEqual(liveGenerations(after), [after.generation])
      }
    }))

  it("never opens while something is closing", () =>
    always(({ actions, after }) => {
      if (tagsOf(actions).includes("Open")) assert.deepStrictEqual(after.closing, [])
    }))
})

describe("step", () => {
  it("takes any event in any state", () => {
    const event = Arbitrary.make(Lifecycle.Event)
    fc.assert(
      fc.property(history, fc.array(event, { maxLength: 5 }), ({ moves, settings }, events) => {
        const { end } = live(settings, moves)
        assertLegal(events.reduce((state, event) => Lifecycle.step(state, event).state, end))
      }),
      runs(200)
    )
  })

  it("leaves the state it was given as it was", () =>
    fc.assert(
      fc.property(history, move, ({ moves, settings }, last) => {
        const { at, end } = live(settings, moves)
        const before = structuredClone(end)
        Lifecycle.step(end, toEvent(end, last, at))
        assert.deepStrictEqual(end, before)
      }),
      often
    ))
})

describe("links", () => {
  it("are opened one after the other and closed once", () =>
    fc.assert(
      fc.property(history, ({ moves, settings }) => {
        const { end, moments, start } = live(settings, moves)
        const actions = [...start.actions, ...moments.flatMap((moment) => moment.actions)]
        const opened = actions.flatMap((action) => (action._tag === "Open" ? [action.generation] : []))
        const closed = actions.flatMap((action) => (action._tag === "Close" ? [action.generation] : []))
        assert.deepStrictEqual(
          opened,
          Array.from({ length: end.generation }, (_, index) => index + 1)
        )
        assert.strictEqual(new Set(closed).size, closed.length, "closed twice")
        for (const generation of end.closing) assert.include(closed, generation)
      }),
      often
    ))

  it("are never forgotten: each stays until it is released", () =>
    always(({ after, before, event }) => {
      const released = event._tag === "Released" ? event.generation : undefined
      const remaining = liveGenerations(before).filter((generation) => generation !== released)
      assert.includeMembers([...liveGenerations(after)], remaining)
      if (released !== undefined) assert.notInclude(liveGenerations(after), released)
    }))

  it("are told to drain exactly when they begin to", () =>
    always(({ actions, after, before }) => {
      const told = actions.flatMap((action) => (action._tag === "Drain" ? [action.generation] : []))
      const begins = after.draining?.generation !== before.draining?.generation && after.draining !== undefined
      assert.deepStrictEqual(told, begins ? [after.draining?.generation] : [])
    }))

  it("are reported open only by the attempt itself", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Opened") return
      if (event.generation === Lifecycle.opening(before)) {
        assert.strictEqual(Lifecycle.routed(after)?.generation, event.generation)
      } else assert.deepStrictEqual(after, before)
    }))

  it("that are lost, drained or out of time are closed", () =>
    always(({ after, before, event }) => {
      const drainTimer = before.draining?.timer
      const ended =
        event._tag === "TimerFired" && event.timer === drainTimer
          ? before.draining?.generation
          : event._tag === "Lost" || (event._tag === "Drained" && event.generation === before.draining?.generation)
            ? event.generation
            : undefined
      if (ended !== undefined && liveGenerations(before).includes(ended)) assert.include(after.closing, ended)
    }))

  it("of an old generation, and old timers, change nothing", () =>
    always(({ actions, after, before, event }) => {
      const stale =
        ("generation" in event && !liveGenerations(before).includes(event.generation)) ||
        (event._tag === "TimerFired" && !Lifecycle.timers(before).some(({ id }) => id === event.timer))
      if (!stale) return
      assert.deepStrictEqual(after, before)
      assert.deepStrictEqual(actions, [])
    }))

  it("that close only wait to be released", () =>
    always(({ after, before, event }) => {
      if (!("generation" in event) || !before.closing.includes(event.generation) || event._tag === "Released") return
      assert.deepStrictEqual(after, before)
    }))

  it("are served by the newest generation that opened", () =>
    always(({ after, before, event }) => {
      const old = Lifecycle.routed(before)?.generation
      const now = Lifecycle.routed(after)?.generation
      if (now === undefined || now === old) return
      assert.strictEqual(event._tag, "Opened")
      assert.isTrue(now > (old ?? 0))
    }))
})

describe("commands", () => {
  it("disable and remove are followed by nothing but closing, draining and publishing until a new command", () => {
    const quiet = new Set(["Close", "Drain", "CancelTimer", "PublishStatus", "PublishReplacement"])
    const command = new Set(["Enable", "Connect", "Restart"])
    fc.assert(
      fc.property(
        history,
        fc.array(move, { maxLength: 30 }),
        fc.constantFrom("Disable", "Remove"),
        (past, future, tag) => {
          const { at, end } = live(past.settings, past.moves)
          let step = Lifecycle.step(end, { _tag: tag, at, random: 0 } as Lifecycle.Event)
          const seen = [...tagsOf(step.actions)]
          for (const next of future) {
            if (command.has(next.tag) && tag === "Disable") break
            step = Lifecycle.step(step.state, toEvent(step.state, next, at))
            seen.push(...tagsOf(step.actions))
          }
          assert.deepStrictEqual(
            seen.filter((action) => !quiet.has(action)),
            []
          )
        }
      ),
      often
    )
  })

  it("remove is final", () =>
    always(({ after, before }) => {
      if (before.phase._tag === "Removed") assert.strictEqual(after.phase._tag, "Removed")
    }))

  it("cannot start what is not trusted", () =>
    always(({ actions, after }) => {
      if (after.settings.disabled !== "trust" || after.phase._tag === "Removed") return
      assert.notInclude(tagsOf(actions), "Open")
      assert.deepInclude(Lifecycle.status(after), { status: "disabled", by: "trust" })
    }))

  it("that start a server against its config hold until the config agrees", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || before.intent !== "up" || before.phase._tag === "Removed") return
      assert.strictEqual(after.intent, event.settings.disabled === "config" ? "up" : "config")
    }))

  it("disable survives every change of config", () =>
    always(({ after, before, event }) => {
      if (before.intent !== "down" || event._tag !== "ConfigChanged" || before.phase._tag === "Removed") return
      assert.strictEqual(after.intent, "down")
      assert.strictEqual(after.phase._tag, "Stopped")
    }))

  it("connect and restart lead to an attempt or keep the link there is", () =>
    always(({ after, event }) => {
      if (event._tag !== "Connect" && event._tag !== "Restart") return
      if (!mayRun(after)) return
      const under = Lifecycle.pursuit(after)?._tag
      const attempting = under === "Pending" || under === "Opening"
      assert.isTrue(attempting || (event._tag === "Connect" && after.phase._tag === "Serving"))
      if (event._tag !== "Restart") return
      assert.isUndefined(Lifecycle.routed(after))
      assert.isUndefined(after.draining, "a restart does not wait for calls")
    }))

  it("given twice are the same as once", () =>
    always(({ after, event }) => {
      if (event._tag !== "Disable" && event._tag !== "Enable" && event._tag !== "Connect" && event._tag !== "Remove")
        return
      const again = Lifecycle.step(after, event)
      assert.deepStrictEqual(again.state, after)
      assert.deepStrictEqual(again.actions, [])
    }))
})

const parks = (kind: string) => kind !== "transient" && kind !== "session_lost" && kind !== "shortage"

describe("a server that is tried again", () => {
  it("on command, by a new config or by a login starts with a clean slate", () =>
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

  it("after a shortage on our side, without a failure or a restart that counts, and never given up for it (breaker 7)", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Lost" || event.failure.kind !== "shortage") return
      assert.isAtMost(after.streak.failures, before.streak.failures)
      assert.isAtMost(after.streak.restarts.length, before.streak.restarts.length)
      assert.strictEqual(after.restarts, before.restarts)
      const pursuit = Lifecycle.pursuit(after)
      // what comes late from an older link changes nothing
      if (pursuit === Lifecycle.pursuit(before) || pursuit === undefined || !("failure" in pursuit)) return
      if (pursuit.failure !== event.failure) return
      assert.strictEqual(pursuit._tag, "Backoff")
      const retry = Lifecycle.timers(after).find(({ kind }) => kind === "retry")
      assert.isTrue(retry!.at >= event.at + 1000 && retry!.at < event.at + 16_000)
    }))

  it("by a login when that is what it waited for", () =>
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

  it("not at all before the time the server asked for", () =>
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

  it("not by a login that cannot help, but by one that came while it was refused", () =>
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

  it("once more when a login came while it was being refused", () =>
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

  it("at once after a lost session, unless the session before was lost as well", () =>
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

describe("a login that is given back", () => {
  it("takes every link with it", () =>
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

  it("that rests has forgotten its failures", () =>
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

  it("at rest is woken by a demand", () =>
    always(({ after, before, event }) => {
      if (before.phase._tag === "Resting" && event._tag === "Demanded") assert.strictEqual(after.phase._tag, "Seeking")
    }))

  it("at rest is only woken by a demand, a command or a config that is no longer lazy", () =>
    always(({ after, before, event }) => {
      if (before.phase._tag !== "Resting" || !isRunning(after)) return
      assert.include(["Demanded", "Connect", "Restart", "ConfigChanged"], event._tag)
      if (event._tag === "ConfigChanged") assert.isFalse(event.settings.lazy && event.settings.invalid === undefined)
    }))

  it("goes to rest only by itself, when nothing else is under way, and only when it is lazy", () =>
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

describe("a replacement", () => {
  it("after a change of identity takes every call away from the old link", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || event.change !== "identity") return
      if (isRunning(before)) assert.isUndefined(Lifecycle.routed(after))
    }))

  it("otherwise leaves the old link serving until the new one is there", () =>
    always(({ after, before, event }) => {
      const served = Lifecycle.routed(before)
      if (event._tag !== "ConfigChanged" || event.change === "identity" || served === undefined) return
      if (!isRunning(after) || !mayRun(after) || event.settings.replace === "stop-first") return
      assert.deepStrictEqual(Lifecycle.routed(after), served)
    }))

  it("that fails never takes the old link down", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Lost" || Lifecycle.opening(before) !== event.generation) return
      const served = Lifecycle.routed(before)
      // alone means alone, also when the config only came to say so while a replacement was under way
      if (after.settings.replace === "overlap") assert.deepStrictEqual(Lifecycle.routed(after), served)
    }))
})

describe("a config", () => {
  it("that needs a new link makes a running server seek one", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || event.change === "settings") return
      if (isRunning(before) && isRunning(after)) assert.isDefined(Lifecycle.pursuit(after))
    }))

  it("that disables keeps the server down, unless a command wants it up", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || before.phase._tag === "Removed") return
      if (event.settings.disabled === "config" && before.intent !== "up")
        assert.strictEqual(after.phase._tag, "Stopped")
      if (event.settings.disabled === undefined && before.intent !== "down")
        assert.notStrictEqual(after.phase._tag, "Stopped")
    }))

  it("that is wrong never opens anything", () =>
    always(({ actions, after }) => {
      if (after.settings.invalid === undefined || after.phase._tag === "Removed") return
      assert.notInclude(tagsOf(actions), "Open")
      assert.isUndefined(Lifecycle.routed(after))
      if (after.phase._tag !== "Stopped") assert.strictEqual(Lifecycle.status(after).status, "failed")
    }))
})

describe("lists that change", () => {
  it("are fetched again once, at once or as soon as the link is open", () =>
    always(({ actions, after, before, event }) => {
      const refreshed = actions.flatMap((action) => (action._tag === "RefreshCatalog" ? [action] : []))
      const routed = Lifecycle.routed(after)?.generation
      if (event._tag === "ListChanged" && event.generation === routed) {
        assert.deepStrictEqual(refreshed, [{ _tag: "RefreshCatalog", generation: routed, list: event.list }])
      } else if (event._tag === "Opened" && event.generation === Lifecycle.opening(before)) {
        const pursuit = Lifecycle.pursuit(before)
        assert(pursuit?._tag === "Opening")
        assert.deepStrictEqual(
          refreshed.map(({ list }) => list),
          pursuit.stale
        )
      } else assert.deepStrictEqual(refreshed, [])
      if (event._tag === "ListChanged" && event.generation === Lifecycle.opening(before)) {
        const pursuit = Lifecycle.pursuit(after)
        assert(pursuit?._tag === "Opening")
        assert.include(pursuit.stale, event.list)
      }
    }))
})

describe("the status", () => {
  it("is what the way to the next link says, where no link serves", () =>
    always(({ after }) => {
      const { phase } = after
      if (phase._tag !== "Seeking") return
      const { pursuit } = phase
      const kind = "failure" in pursuit ? pursuit.failure.kind : undefined
      const waiting = pursuit._tag === "Parked" ? { auth: "needs_auth", registration: "needs_client_registration" } : {}
      const expected =
        kind === undefined ? "connecting" : (({ ...waiting } as Record<string, string>)[kind] ?? "failed")
      assert.strictEqual(Lifecycle.status(after).status, expected)
    }))

  it("shows what a link reports", () =>
    always(({ after, before, event }) => {
      const status = Lifecycle.status(after)
      if (event._tag === "Opened" && event.generation === Lifecycle.opening(before)) {
        assert.deepStrictEqual(status, { status: "connected", since: event.at, ...event.info })
      }
      if (event._tag === "LinkUpdated" && event.generation === Lifecycle.routed(after)?.generation) {
        assert.deepInclude(status, event.info)
      }
      if (
        event._tag === "PhaseReached" &&
        event.generation === Lifecycle.opening(after) &&
        status.status === "connecting"
      ) {
        assert.strictEqual(status.phase, event.phase)
      }
    }))

  it("is connected exactly when a link takes calls", () =>
    always(({ after }) =>
      assert.strictEqual(Lifecycle.status(after).status === "connected", Lifecycle.routed(after) !== undefined)
    ))

  it("is published exactly when it changed", () =>
    always(({ actions, after, before }) => {
      const published = actions.filter(({ _tag }) => _tag === "PublishStatus")
      const from = Lifecycle.status(before)
      const to = after.phase._tag === "Removed" ? from : Lifecycle.status(after)
      assert.deepStrictEqual(published, ServerStatus.equals(from, to) ? [] : [{ _tag: "PublishStatus", from, to }])
    }))

  it("and the replacement are published exactly when they changed", () =>
    always(({ actions, after, before }) => {
      const published = actions.flatMap((action) => (action._tag === "PublishReplacement" ? [action.replacement] : []))
      const from = Lifecycle.replacement(before)
      const to = Lifecycle.replacement(after)
      const same = JSON.stringify(from) === JSON.stringify(to)
      assert.deepStrictEqual(published, same || after.phase._tag === "Removed" ? [] : [to])
    }))

  it("of a failure says when it is tried again, or what has to be done", () =>
    always(({ after }) => {
      const status = Lifecycle.status(after)
      const timer = Lifecycle.timers(after).find(({ kind }) => kind !== "drain")
      if (status.status === "failed") assert.strictEqual(status.retryAt, timer?.at)
      if (status.status === "failed") assert.strictEqual(status.gaveUp !== undefined, timer?.kind === "cooldown")
    }))
})

describe("timers", () => {
  it("of a draining link give it the time its config allows", () =>
    always(({ after, before, event }) => {
      if (after.draining === undefined || after.draining.generation === before.draining?.generation) return
      assert.strictEqual(after.draining.until, event.at + after.settings.drain)
    }))

  it("are scheduled and cancelled so that those that run are those the state has", () =>
    fc.assert(
      fc.property(history, ({ moves, settings }) => {
        const running = new Map<number, number>()
        let newest = 0
        const { moments, start } = live(settings, moves)
        const run = (actions: ReadonlyArray<Lifecycle.Action>) => {
          for (const action of actions) {
            if (action._tag === "ScheduleTimer") {
              assert.isAbove(action.timer.id, newest, "a number is used twice")
              newest = action.timer.id
              running.set(newest, action.timer.at)
            }
            if (action._tag === "CancelTimer") assert.isTrue(running.delete(action.timer))
          }
        }
        run(start.actions)
        for (const { actions, after } of moments) {
          run(actions)
          assert.sameDeepMembers(
            [...running],
            Lifecycle.timers(after).map(({ at, id }) => [id, at])
          )
        }
      }),
      often
    ))
})

describe("once faults stop", () => {
  it("every server that may run is connected, or at rest, or waits for a person", () =>
    fc.assert(
      fc.property(history, ({ moves, settings }) => {
        let { at, end: state } = live(settings, moves)
        // each round lets one thing happen that must happen: links end, attempts succeed, timers fire
        for (let round = 0; round < 20; round++) {
          const [closing] = state.closing
          const opening = Lifecycle.opening(state)
          const [timer] = Lifecycle.timers(state)
          const stamp = { at, random: 0.5 }
          if (closing !== undefined)
            state = Lifecycle.step(state, { _tag: "Released", ...stamp, generation: closing }).state
          else if (opening !== undefined) {
            state = Lifecycle.step(state, { _tag: "Opened", ...stamp, generation: opening, info }).state
          } else if (timer !== undefined) {
            at = Math.max(at, timer.at)
            state = Lifecycle.step(state, { _tag: "TimerFired", ...stamp, at, timer: timer.id }).state
          }
        }
        const pursuit = Lifecycle.pursuit(state)
        assert.isTrue(pursuit === undefined || pursuit._tag === "Parked", `still ${pursuit?._tag}`)
        assert.deepStrictEqual(state.closing, [])
        if (state.phase._tag === "Removed") assert.isTrue(Lifecycle.isFinished(state))
      }),
      often
    ))
})

describe("the histories these laws are tried on", () => {
  it("get everywhere", () => {
    const visits = new Map<string, number>()
    for (const { moves, settings } of fc.sample(history, { numRuns: 1_000, seed: 7 })) {
      for (const { before, event } of live(settings, moves).moments) {
        const place = [before.phase._tag, Lifecycle.pursuit(before)?._tag].filter(Boolean).join("/")
        for (const key of [place, `${place} ${event._tag}`]) visits.set(key, (visits.get(key) ?? 0) + 1)
      }
    }
    const pursuits = ["Pending", "Opening", "Backoff", "GaveUp", "Parked"]
    const places = [
      "Stopped",
      "Resting",
      "Serving",
      ...pursuits.flatMap((each) => [`Seeking/${each}`, `Serving/${each}`])
    ]
    const rare = places.filter((place) => (visits.get(place) ?? 0) < 10)
    assert.deepStrictEqual(rare, [], "hardly visited")
    const events = [
      "Lost",
      "Released",
      "TimerFired",
      "Connect",
      "Disable",
      "Restart",
      "ConfigChanged",
      "CredentialsChanged"
    ]
    const crossings = places.flatMap((place) => events.map((event) => `${place} ${event}`))
    const missed = crossings.filter((crossing) => !visits.has(crossing))
    assert.isBelow(missed.length, crossings.length / 10, `never tried: ${missed.join(", ")}`)
  })
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

  it("waits at most as long as the policy's bound for its streak, and not at all the first time", () =>
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
