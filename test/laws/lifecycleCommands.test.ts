import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Lifecycle } from "../../src/index.js"
import { history, live, move, toEvent } from "./lifecycleHistory.js"
import { often, always, mayRun, isRunning, tagsOf } from "./lifecycleMoments.js"

describe("commands", () => {
  it("disable and remove lead only to closing, draining and publishing until a new command", () => {
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

  it("remove is permanent", () =>
    always(({ after, before }) => {
      if (before.phase._tag === "Removed") assert.strictEqual(after.phase._tag, "Removed")
    }))

  it("cannot start what is not trusted", () =>
    always(({ actions, after }) => {
      if (after.settings.disabled !== "trust" || after.phase._tag === "Removed") return
      assert.notInclude(tagsOf(actions), "Open")
      assert.deepInclude(Lifecycle.status(after), { status: "disabled", by: "trust" })
    }))

  it("that start a server against its config stay in effect until the config agrees", () =>
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

  it("connect and restart lead to an attempt or keep the current link", () =>
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

  it("have the same effect twice as once", () =>
    always(({ after, event }) => {
      if (event._tag !== "Disable" && event._tag !== "Enable" && event._tag !== "Connect" && event._tag !== "Remove")
        return
      const again = Lifecycle.step(after, event)
      assert.deepStrictEqual(again.state, after)
      assert.deepStrictEqual(again.actions, [])
    }))
})

describe("a replacement", () => {
  it("after a change of identity routes no call to the old link", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || event.change !== "identity") return
      if (isRunning(before)) assert.isUndefined(Lifecycle.routed(after))
    }))

  it("otherwise keeps the old link serving until the new one is open", () =>
    always(({ after, before, event }) => {
      const served = Lifecycle.routed(before)
      if (event._tag !== "ConfigChanged" || event.change === "identity" || served === undefined) return
      if (!isRunning(after) || !mayRun(after) || event.settings.replace === "stop-first") return
      assert.deepStrictEqual(Lifecycle.routed(after), served)
    }))

  it("that fails never closes the old link", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "Lost" || Lifecycle.opening(before) !== event.generation) return
      const served = Lifecycle.routed(before)
      // stop-first also applies if the config set it while a replacement was running
      if (after.settings.replace === "overlap") assert.deepStrictEqual(Lifecycle.routed(after), served)
    }))
})

describe("a config", () => {
  it("that needs a new link makes a running server request one", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || event.change === "settings") return
      if (isRunning(before) && isRunning(after)) assert.isDefined(Lifecycle.pursuit(after))
    }))

  it("that disables a server keeps it disabled, unless a command started it", () =>
    always(({ after, before, event }) => {
      if (event._tag !== "ConfigChanged" || before.phase._tag === "Removed") return
      if (event.settings.disabled === "config" && before.intent !== "up")
        assert.strictEqual(after.phase._tag, "Stopped")
      if (event.settings.disabled === undefined && before.intent !== "down")
        assert.notStrictEqual(after.phase._tag, "Stopped")
    }))

  it("that is invalid never opens a link", () =>
    always(({ actions, after }) => {
      if (after.settings.invalid === undefined || after.phase._tag === "Removed") return
      assert.notInclude(tagsOf(actions), "Open")
      assert.isUndefined(Lifecycle.routed(after))
      if (after.phase._tag !== "Stopped") assert.strictEqual(Lifecycle.status(after).status, "failed")
    }))
})

describe("lists that change", () => {
  it("are fetched again once, immediately or as soon as the link is open", () =>
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
