import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Fiber, Scope, TestClock, TestContext } from "effect"
import * as Turns from "../../src/supervision/servers/Turns.js"
import { isOver, passed, resultOf, settle } from "./support.js"

const options = { atOnce: 2, shortest: 100, longest: 1000 }

/** Takes turns, and writes down who has begun. */
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
  it.scoped("so many at a time, in the order they came", () =>
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

  it.scoped("a turn that lasts too long ends, and its work goes on", () =>
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

  it.scoped("work that ends at once is not kept waiting, but the next has to wait for the shortest turn", () =>
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

  it.scoped("who waits can be interrupted at once, and loses nothing for the others", () =>
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

  it.scoped("an interrupt in a turn ends the work at once", () =>
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

  it.effect("no clock is left when the scope is closed", () =>
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

  it("whatever work ends, hangs, fails or is interrupted: no place is lost", () =>
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
              // each turn is over by then
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
