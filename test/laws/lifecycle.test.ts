import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck as fc } from "effect"
import { Lifecycle } from "../../src/index.js"
import { history, info, live, liveGenerations, move, toEvent } from "./lifecycleHistory.js"
import { runs } from "./runs.js"
import { often, always, isRunning, tagsOf } from "./lifecycleMoments.js"

/** Checks what every state must satisfy. */
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

  it("never opens beside another link with stop-first", () =>
    always(({ actions, after }) => {
      if (after.settings.replace === "stop-first" && tagsOf(actions).includes("Open")) {
        assert.deepStrictEqual(liveGenerations(after), [after.generation])
      }
    }))

  it("never opens a link while another one is closing", () =>
    always(({ actions, after }) => {
      if (tagsOf(actions).includes("Open")) assert.deepStrictEqual(after.closing, [])
    }))
})

describe("step", () => {
  it("accepts any event in any state", () => {
    const event = Arbitrary.make(Lifecycle.Event)
    fc.assert(
      fc.property(history, fc.array(event, { maxLength: 5 }), ({ moves, settings }, events) => {
        const { end } = live(settings, moves)
        assertLegal(events.reduce((state, event) => Lifecycle.step(state, event).state, end))
      }),
      runs(200)
    )
  })

  it("does not change its input", () =>
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

  it("stay in the state until they are released", () =>
    always(({ after, before, event }) => {
      const released = event._tag === "Released" ? event.generation : undefined
      const remaining = liveGenerations(before).filter((generation) => generation !== released)
      assert.includeMembers([...liveGenerations(after)], remaining)
      if (released !== undefined) assert.notInclude(liveGenerations(after), released)
    }))

  it("get `Drain` exactly when they start to drain", () =>
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

  it("that are lost, drained or over their drain time are closed", () =>
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

  it("that close are only changed by their release", () =>
    always(({ after, before, event }) => {
      if (!("generation" in event) || !before.closing.includes(event.generation) || event._tag === "Released") return
      assert.deepStrictEqual(after, before)
    }))

  it("route calls to the newest generation that opened", () =>
    always(({ after, before, event }) => {
      const old = Lifecycle.routed(before)?.generation
      const now = Lifecycle.routed(after)?.generation
      if (now === undefined || now === old) return
      assert.strictEqual(event._tag, "Opened")
      assert.isTrue(now > (old ?? 0))
    }))
})

describe("once faults stop", () => {
  it("every enabled server is connected, idle, or waits for the user", () =>
    fc.assert(
      fc.property(history, ({ moves, settings }) => {
        let { at, end: state } = live(settings, moves)
        // each round sends one event that must occur: links close, attempts succeed, timers fire
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

describe("the generated histories", () => {
  it("reach every kind of state", () => {
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
