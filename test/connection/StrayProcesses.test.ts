import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, TestClock } from "effect"
import * as StrayProcesses from "../../src/connection/process/StrayProcesses.js"
import { CannotLook, type Row } from "../../src/connection/process/processRows.js"

const stray = (pid: number, run: string, child: string): Row => ({ pid, group: pid, run, child, guards: undefined })

/** A system whose processes change between two scans. */
const system = (...looks: ReadonlyArray<ReadonlyArray<Row>>) => {
  const asked: Array<ReadonlyArray<string>> = []
  const strays = StrayProcesses.make((runs) =>
    Effect.sync(() => {
      asked.push(["a", "b"].filter((run) => runs.has(run)))
      return looks[asked.length - 1] ?? []
    }).pipe(Effect.delay("10 millis"))
  )
  return { asked, strays }
}

describe("StrayProcesses", () => {
  it.effect("scans the processes once for all servers that end together, with pauses between scans", () =>
    Effect.gen(function* () {
      const { asked, strays } = system([stray(30, "a", "1")], [stray(31, "a", "2"), stray(32, "b", "9")])
      const find = (run: string, child: string) => Effect.fork(strays.find({ run, child }, 20))
      const first = yield* find("a", "1")
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(first), [30])
      // these start after the first scan, whose result may be outdated for them
      const later = yield* Effect.all([find("a", "2"), find("a", "3"), find("b", "9")])
      yield* TestClock.adjust("49 millis")
      assert.strictEqual(asked.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual(yield* Fiber.join(Fiber.all(later)), [[31], [], [32]])
      assert.deepStrictEqual(asked, [["a"], ["a", "b"]])
    })
  )

  it.effect("finds nothing if environments of processes cannot be read", () =>
    Effect.gen(function* () {
      const strays = StrayProcesses.make(() => Effect.fail(new CannotLook({ isPassing: false })))
      const finding = yield* Effect.fork(strays.find({ run: "a", child: "1" }, 20))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* Fiber.join(finding), [])
    })
  )

  it.effect("fails every waiting caller when a scan fails, and scans again for the next", () =>
    Effect.gen(function* () {
      const looks = [
        Effect.fail(new CannotLook({ isPassing: true })),
        Effect.die("no such luck"),
        Effect.succeed([stray(30, "a", "1")])
      ]
      let looked = 0
      const strays = StrayProcesses.make(() => Effect.suspend(() => looks[looked++]!))
      const find = Effect.exit(strays.find({ run: "a", child: "1" }, 20))
      const both = Effect.all([find, find], { concurrency: 2 }).pipe(Effect.timeout("1 second"))
      for (const expected of ["CannotLook", "no such luck"]) {
        const waiting = yield* Effect.fork(both)
        yield* TestClock.adjust("1 second")
        for (const exit of yield* Fiber.join(waiting)) {
          assert.isTrue(Exit.isFailure(exit))
          assert.include(String(exit), expected)
        }
      }
      assert.deepStrictEqual(yield* strays.find({ run: "a", child: "1" }, 20), [30])
    })
  )
})
