import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Random, Ref, TestClock } from "effect"
import { RestartPolicy } from "../../src/index.js"

const policy: RestartPolicy.RestartPolicy = { ...RestartPolicy.defaultPolicy, base: 1_000, cap: 3_000, maxRestarts: 4 }

/** The times at which an effect that always fails is run, in milliseconds. */
const attempts = (policy: RestartPolicy.RestartPolicy, uptime: number, time: number) =>
  Effect.gen(function* () {
    const times = yield* Ref.make<ReadonlyArray<number>>([])
    const attempt = Clock.currentTimeMillis.pipe(
      Effect.flatMap((now) => Ref.update(times, (all) => [...all, now])),
      Effect.zipRight(Effect.sleep(uptime)),
      Effect.zipRight(Effect.fail("crash"))
    )
    const fiber = yield* Effect.fork(Effect.retry(attempt, RestartPolicy.toSchedule(policy)))
    yield* TestClock.adjust(time)
    yield* Fiber.interrupt(fiber)
    return yield* Ref.get(times)
  }).pipe(Effect.withRandom(Random.make("restart")))

describe("the upper bound of the delays", () => {
  it("is zero at first, then grows from base to cap", () => {
    const bounds = [1, 2, 3, 4, 5].map((failures) => RestartPolicy.ceiling(policy, failures))
    assert.deepStrictEqual(bounds, [0, 1_000, 2_000, 3_000, 3_000])
  })
})

describe("the delay after a shortage on the supervisor's side", () => {
  it("is one to two seconds at first and doubles up to 8 to 16 seconds", () => {
    const between = [1, 2, 3, 4, 5, 100].map((shortages) => [
      RestartPolicy.shortageDelay(shortages, 0),
      RestartPolicy.shortageDelay(shortages, 0.75)
    ])
    assert.deepStrictEqual(between, [
      [1_000, 1_750],
      [2_000, 3_500],
      [4_000, 7_000],
      [8_000, 14_000],
      [8_000, 14_000],
      [8_000, 14_000]
    ])
  })
})

describe("restarts", () => {
  it("count for the length of the window", () => {
    assert.deepStrictEqual(RestartPolicy.recent(policy, [0, 1, 60_000], 60_000), [1, 60_000])
    assert.isTrue(RestartPolicy.isExhausted(policy, [1, 2, 3, 4], 5))
    assert.isFalse(RestartPolicy.isExhausted(policy, [1, 2, 3, 4], 60_001))
    assert.isFalse(RestartPolicy.isExhausted(RestartPolicy.defaultPolicy, [1, 2, 3, 4, 5, 6], 7))
    assert.isTrue(RestartPolicy.isExhausted({ ...policy, maxRestarts: 0 }, [], 0))
  })
})

describe("toSchedule", () => {
  it.effect("restarts at once, then within growing bounds, and ends after the maximum number of restarts", () =>
    Effect.gen(function* () {
      const times = yield* attempts(policy, 0, 100_000)
      assert.strictEqual(times.length, 1 + 4)
      const delays = times.slice(1).map((time, index) => time - times[index]!)
      delays.forEach((delay, index) => assert.isAtMost(delay, RestartPolicy.ceiling(policy, index + 1)))
      assert.isAbove(delays[3]!, 0)
    })
  )

  it.effect("ends with the error of the retried effect", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.retry(Effect.fail("crash"), RestartPolicy.toSchedule(policy)))
      yield* TestClock.adjust(100_000)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.fail("crash"))
    })
  )

  it.effect("continues at the cap if restarts are not limited", () =>
    Effect.gen(function* () {
      const times = yield* attempts({ ...policy, maxRestarts: Number.POSITIVE_INFINITY }, 0, 600_000)
      const delays = times.slice(1).map((time, index) => time - times[index]!)
      // if it had been reset, there would be more than one restart without a delay
      assert.strictEqual(delays.filter((delay) => delay === 0).length, 1)
      assert.isAbove(times.length, 300)
    })
  )

  for (const uptime of [policy.stableAfter, policy.stableAfter + 1]) {
    it.effect(`starts again at zero after enough uptime: ${uptime} ms`, () =>
      Effect.gen(function* () {
        const times = yield* attempts({ ...policy, maxRestarts: 1 }, uptime, 10 * uptime - 1)
        assert.deepStrictEqual(
          times,
          [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) => attempt * uptime)
        )
      })
    )
  }
})
