import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Fiber, TestClock } from "effect"
import * as CallQueue from "../../src/supervision/calls/CallQueue.js"
import { isOver, resultOf, settle } from "./support.js"

const forever = Number.POSITIVE_INFINITY

const enter = (gate: CallQueue.CallQueue, patience: number) =>
  Effect.uninterruptibleMask((restore) => gate.enter(patience, restore))

/** How many calls are admitted at once now. All of them are released again. */
const room = (gate: CallQueue.CallQueue): number => {
  let count = 0
  while (count < 100 && gate.tryEnter()) count += 1
  for (let i = 0; i < count; i++) gate.leave()
  return count
}

describe("CallQueue", () => {
  it("admits as many calls as its limit", () => {
    const gate = CallQueue.make(2, 10)
    assert.isTrue(gate.tryEnter())
    assert.isTrue(gate.tryEnter())
    assert.isFalse(gate.tryEnter())
    gate.leave()
    assert.isTrue(gate.tryEnter())
  })

  it.effect("admits calls in the order of arrival", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 10)
      gate.tryEnter()
      const order: Array<number> = []
      for (const id of [1, 2, 3]) {
        yield* Effect.fork(Effect.tap(enter(gate, forever), () => Effect.sync(() => order.push(id))))
        yield* settle
      }
      assert.strictEqual(gate.waiting(), 3)
      gate.leave()
      assert.isFalse(gate.tryEnter())
      yield* settle
      assert.deepStrictEqual(order, [1])
      gate.leave()
      gate.leave()
      yield* settle
      assert.deepStrictEqual(order, [1, 2, 3])
      gate.leave()
      assert.strictEqual(room(gate), 1)
    })
  )

  it.effect("rejects a call when its waiting line is full", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 1)
      gate.tryEnter()
      const waiting = yield* Effect.fork(enter(gate, forever))
      yield* settle
      assert.strictEqual(yield* enter(gate, forever), "full")
      gate.leave()
      assert.deepStrictEqual(yield* resultOf(waiting), Exit.succeed("in"))
    })
  )

  it.effect("removes a call from the line when its waiting time is over", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 10)
      gate.tryEnter()
      const waiting = yield* Effect.fork(enter(gate, 100))
      yield* TestClock.adjust(99)
      assert.isFalse(yield* isOver(waiting))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* resultOf(waiting), Exit.succeed("late"))
      assert.strictEqual(gate.waiting(), 0)
      gate.leave()
      assert.strictEqual(room(gate), 1)
    })
  )

  it.effect("removes an interrupted call from the line", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 10)
      gate.tryEnter()
      const waiting = yield* Effect.fork(enter(gate, forever))
      yield* settle
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(gate.waiting(), 0)
      gate.leave()
      assert.strictEqual(room(gate), 1)
    })
  )

  it.effect("releases the place of a call that is interrupted right after its admission", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 10)
      gate.tryEnter()
      const waiting = yield* Effect.fork(enter(gate, forever))
      yield* settle
      gate.leave()
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(room(gate), 1)
    })
  )

  it.effect("admits waiting calls when the limit grows, and ends no call when it shrinks", () =>
    Effect.gen(function* () {
      const gate = CallQueue.make(1, 10)
      gate.tryEnter()
      const waiting = yield* Effect.fork(enter(gate, forever))
      yield* settle
      gate.resize(2)
      assert.deepStrictEqual(yield* resultOf(waiting), Exit.succeed("in"))
      gate.resize(1)
      gate.leave()
      assert.isFalse(gate.tryEnter())
      gate.leave()
      assert.strictEqual(room(gate), 1)
    })
  )

  it.effect("loses and gains no place in any order of entering, leaving, timeouts and interrupts", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom("enter", "leave", "interrupt", "leave and interrupt"), { maxLength: 30 }),
          (steps) =>
            Effect.runPromise(
              Effect.gen(function* () {
                const gate = CallQueue.make(2, 3)
                const inside: Array<number> = []
                const fibers = new Map<number, Fiber.RuntimeFiber<string>>()
                let id = 0
                const enter = (mine: number) =>
                  Effect.uninterruptibleMask((restore) =>
                    Effect.tap(gate.enter(forever, restore), (place) =>
                      Effect.sync(() => {
                        fibers.delete(mine)
                        if (place === "in") inside.push(mine)
                      })
                    )
                  )
                const leave = () => {
                  if (inside.pop() !== undefined) gate.leave()
                }
                const interruptFirst = Effect.suspend(() => {
                  const [first] = fibers
                  if (first === undefined) return Effect.void
                  fibers.delete(first[0])
                  return Fiber.interrupt(first[1])
                })
                for (const step of steps) {
                  if (step === "enter") {
                    const mine = ++id
                    fibers.set(mine, yield* Effect.fork(enter(mine)))
                  }
                  if (step.startsWith("leave")) leave()
                  if (step.endsWith("interrupt")) yield* interruptFirst
                  if (step !== "leave and interrupt") yield* Effect.yieldNow()
                  assert.isAtMost(inside.length, 2)
                }
                while (fibers.size > 0) yield* interruptFirst
                while (inside.length > 0) leave()
                assert.strictEqual(gate.waiting(), 0)
                assert.strictEqual(room(gate), 2)
              })
            )
        )
      )
    )
  )
})
