import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { RestartPolicy } from "../../src/index.js"
import { policy } from "./lifecycleHistory.js"

const failures = fc.integer({ min: 0, max: 2_000 })
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe("the delay before a restart", () => {
  it("has an upper bound that never falls and never exceeds the cap", () =>
    fc.assert(
      fc.property(policy, failures, (policy, failures) => {
        const bound = RestartPolicy.ceiling(policy, failures)
        assert.isTrue(bound <= RestartPolicy.ceiling(policy, failures + 1))
        assert.isTrue(bound <= policy.cap)
      })
    ))

  it("is never negative and never above its bound", () =>
    fc.assert(
      fc.property(policy, failures, random, (policy, failures, random) => {
        const delay = RestartPolicy.delay(policy, failures, random)
        assert.isTrue(delay >= 0 && delay <= RestartPolicy.ceiling(policy, failures))
      })
    ))

  it("grows with the random number, from zero to its bound", () =>
    fc.assert(
      fc.property(policy, failures, random, random, (policy, failures, a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a]
        assert.isTrue(RestartPolicy.delay(policy, failures, less) <= RestartPolicy.delay(policy, failures, more))
        assert.strictEqual(RestartPolicy.delay(policy, failures, 0), 0)
      })
    ))

  it("is zero after the first failure of a streak", () =>
    fc.assert(
      fc.property(policy, random, (policy, random) => {
        assert.strictEqual(RestartPolicy.delay(policy, 1, random), 0)
      })
    ))

  it("is at least what the server asked for, up to a maximum", () =>
    fc.assert(
      fc.property(fc.nat(), fc.option(fc.nat({ max: 10_000_000 }), { nil: undefined }), (delay, retryAfter) => {
        const raised = RestartPolicy.withRetryAfter(delay, retryAfter)
        assert.isTrue(raised >= delay)
        assert.isTrue(raised >= Math.min(retryAfter ?? 0, RestartPolicy.maxRetryAfter))
        assert.isTrue(raised <= Math.max(delay, RestartPolicy.maxRetryAfter))
      })
    ))
})
