import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as FairScheduler from "../../src/system/FairScheduler.js"

const scheduled = <A>(effect: Effect.Effect<A>, slice?: number) =>
  Effect.promise(() =>
    Effect.runPromise(Fiber.join(Effect.runFork(effect, { scheduler: FairScheduler.make({ slice }) })))
  )

/** Blocks the thread. */
const work = (ms: number) =>
  Effect.sync(() => {
    const end = performance.now() + ms
    while (performance.now() < end);
  })

describe("FairScheduler", () => {
  it.live("returns to the event loop while many fibers are busy", () =>
    Effect.gen(function* () {
      let turns = 0
      let isDone = false
      const turn = () => {
        turns += 1
        if (!isDone) setImmediate(turn)
      }
      setImmediate(turn)
      const busy = Effect.repeatN(Effect.zipRight(work(1), Effect.yieldNow()), 9)
      yield* scheduled(Effect.forEach(Array.from({ length: 30 }), () => busy, { concurrency: "unbounded" }))
      isDone = true
      // 300 ms of work in slices of 5 ms
      assert.isAbove(turns, 15)
    })
  )

  it.live("interrupts one fiber that never waits", () =>
    Effect.gen(function* () {
      let turns = 0
      const turn = () => {
        turns += 1
        if (turns < 1000) setImmediate(turn)
      }
      setImmediate(turn)
      yield* scheduled(Effect.forEach(Array.from({ length: 600 }), () => work(0.2), { discard: true }))
      assert.isAbove(turns, 5)
    })
  )

  it.live("runs tasks in order, those with a lower priority number first", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const names = Array.from({ length: 20 }, (_, index) => `task ${index}`)
      yield* Effect.async<void>((resume) => {
        const scheduler = FairScheduler.make({ slice: 3 })
        const schedule = (name: string, priority: number) =>
          scheduler.scheduleTask(() => {
            Effect.runSync(work(2))
            order.push(name)
            if (order.length === names.length + 1) resume(Effect.void)
          }, priority)
        for (const name of names) schedule(name, 1)
        schedule("first", 0)
      })
      assert.deepStrictEqual(order, ["first", ...names])
    })
  )

  it.live("runs each of thousands of waiting tasks once", () =>
    Effect.gen(function* () {
      let ran = 0
      const count = Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => void (ran += 1))
      )
      yield* scheduled(
        Effect.forEach(Array.from({ length: 20_000 }), () => count, { concurrency: "unbounded" }),
        1
      )
      assert.strictEqual(ran, 20_000)
    })
  )

  it("is the scheduler of every command", () => {
    const source = readFileSync(new URL("../../src/cli/program.ts", import.meta.url), "utf8")
    const forks = Array.from(source.matchAll(/\brun(?:Fork|Promise|Callback)\((.*)\)$/gm), ([, args]) => args)
    assert.deepStrictEqual(forks, ["program, { scheduler: FairScheduler.make() }", "Fiber.await(fiber)"])
  })
})
