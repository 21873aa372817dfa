import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Lifecycle, ServerStatus } from "../../src/index.js"
import { history, live } from "./lifecycleHistory.js"
import { often, always } from "./lifecycleMoments.js"

describe("the status", () => {
  it("is that of the next link if no link serves", () =>
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

  it("shows the info of a link", () =>
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

  it("is connected exactly when calls are routed to a link", () =>
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

  it("of a failure contains the time of the retry, or what to do", () =>
    always(({ after }) => {
      const status = Lifecycle.status(after)
      const timer = Lifecycle.timers(after).find(({ kind }) => kind !== "drain")
      if (status.status === "failed") assert.strictEqual(status.retryAt, timer?.at)
      if (status.status === "failed") assert.strictEqual(status.gaveUp !== undefined, timer?.kind === "cooldown")
    }))
})

describe("timers", () => {
  it("of a draining link fire after the drain time of its config", () =>
    always(({ after, before, event }) => {
      if (after.draining === undefined || after.draining.generation === before.draining?.generation) return
      assert.strictEqual(after.draining.until, event.at + after.settings.drain)
    }))

  it("are scheduled and cancelled to match the state", () =>
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
