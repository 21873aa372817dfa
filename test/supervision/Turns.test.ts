import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Fiber, Scope, TestClock, TestContext } from "effect"
import * as Turns from "../../src/supervision/servers/Turns.js"
import { isOver, passed, resultOf, settle } from "./support.js"

const options = { atOnce: 2, shortest: 100, longest: 1000 }

/** Takes turns, and records which have begun. */
const recorded = Effect.map(Turns.make(options), (turns) => {
  const begun: Array<number> = []
  const take = <A, E>(id: number, work: Effect.Effect<A, E>) =>
    Effect.fork(
      turns.take(
        Effect.zipRight(
          Effect.sync(() => begun.push(id)),
          work
        )
      )
    )
  return { begun, take }
})

describe("Turns", () => {
  it.scoped("run up to the limit at a time, in the order of arrival", () =>
    Effect.gen(function* () {
      const { begun, take } = yield* recorded
      for (const id of [1, 2, 3, 4]) yield* take(id, Effect.sleep(300))
      yield* settle
      assert.deepStrictEqual(begun, [1, 2])
      yield* passed(299)
      assert.deepStrictEqual(begun, [1, 2])
      yield* passed(1)
      assert.deepStrictEqual(begun, [1, 2, 3, 4])
    })
  )

  it.scoped("end after a time limit, while their work continues", () =>
    Effect.gen(function* () {
      const { begun, take } = yield* recorded
      const slow = yield* take(1, Effect.delay(Effect.succeed("late"), 5000))
      yield* take(2, Effect.never)
      yield* take(3, Effect.void)
      yield* passed(999)
      assert.deepStrictEqual(begun, [1, 2])
      yield* passed(1)
      assert.deepStrictEqual(begun, [1, 2, 3])
      yield* passed(4000)
      assert.deepStrictEqual(yield* resultOf(slow), Exit.succeed("late"))
    })
  )

  it.scoped("return the result of short work at once, and let the next wait for the minimum length", () =>
    Effect.gen(function* () {
      const { begun, take } = yield* recorded
      const quick = yield* take(1, Effect.fail("no"))
      yield* take(2, Effect.void)
      yield* take(3, Effect.void)
      yield* settle
      assert.deepStrictEqual(yield* resultOf(quick), Exit.fail("no"))
      yield* passed(99)
      assert.deepStrictEqual(begun, [1, 2])
      yield* passed(1)
      assert.deepStrictEqual(begun, [1, 2, 3])
    })
  )

  it.scoped("lose no place when a waiting caller is interrupted", () =>
    Effect.gen(function* () {
      const { begun, take } = yield* recorded
      yield* take(1, Effect.never)
      yield* take(2, Effect.never)
      const waiting = yield* take(3, Effect.void)
      yield* take(4, Effect.void)
      yield* settle
      yield* Fiber.interrupt(waiting)
      yield* passed(1000)
      assert.deepStrictEqual(begun, [1, 2, 4])
    })
  )

  it.scoped("end the work at once when they are interrupted", () =>
    Effect.gen(function* () {
      const { begun, take } = yield* recorded
      const interrupted = yield* take(1, Effect.never)
      yield* take(2, Effect.never)
      yield* take(3, Effect.void)
      yield* passed(200)
      yield* Fiber.interruptFork(interrupted)
      yield* settle
      assert.isTrue(yield* isOver(interrupted))
      assert.deepStrictEqual(begun, [1, 2, 3])
    })
  )

  it.effect("leave no timer after the scope is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { begun, take } = yield* Scope.extend(recorded, scope)
      yield* take(1, Effect.never)
      yield* take(2, Effect.void)
      yield* take(3, Effect.void)
      yield* settle
      yield* Scope.close(scope, Exit.void)
      yield* passed(options.longest)
      assert.deepStrictEqual(begun, [1, 2])
    })
  )

  it("lose no place, whether work ends, hangs, fails or is interrupted", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(0, 50, 100, 500, 5000), fc.constantFrom("end", "fail", "interrupt")), {
          maxLength: 20
        }),
        (works) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const { begun, take } = yield* recorded
              for (const [id, [millis, end]] of works.entries()) {
                const work = Effect.delay(end === "fail" ? Effect.fail(id) : Effect.void, millis)
                const fiber = yield* take(id, work)
                if (end === "interrupt") yield* Effect.fork(Effect.delay(Fiber.interrupt(fiber), 70))
              }
              // each turn has ended by then
              yield* TestClock.adjust(options.longest * works.length)
              yield* take(100, Effect.never)
              yield* take(101, Effect.never)
              yield* settle
              assert.deepStrictEqual(begun.slice(-2), [100, 101])
            }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext))
          )
      ),
      { numRuns: 30 }
    ))
})
