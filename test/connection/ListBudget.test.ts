import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as ListBudget from "../../src/connection/session/ListBudget.js"
import { runs } from "../laws/runs.js"

describe("a list budget", () => {
  it("counts all pages of all lists together", () => {
    const budget = ListBudget.make(10)
    const tools = budget.begin("tools")
    const prompts = budget.begin("prompts")
    assert.isTrue(tools.add(4))
    assert.isTrue(prompts.add(4))
    assert.isTrue(tools.add(2))
    assert.isFalse(prompts.add(1))
  })

  it("counts a complete list until it is fetched again completely", () => {
    const budget = ListBudget.make(10)
    const first = budget.begin("tools")
    assert.isTrue(first.add(8))
    first.end(true)
    const prompts = budget.begin("prompts")
    assert.isFalse(prompts.add(3))
    prompts.end(false)
    const again = budget.begin("tools")
    assert.isTrue(again.add(9))
    again.end(false)
    // the list of 8 is still the last complete one
    assert.isTrue(budget.begin("prompts").add(2))
    assert.isFalse(budget.begin("prompts").add(1))
  })

  it("never lets the stored lists exceed the limit", () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.array(fc.nat(50), { maxLength: 5 })), { maxLength: 20 }),
        fc.integer({ min: 1, max: 100 }),
        (walks, limit) => {
          const budget = ListBudget.make(limit)
          const kept = new Map<string, number>()
          for (const [list, pages] of walks) {
            const walk = budget.begin(list)
            const isComplete = pages.every((bytes) => walk.add(bytes))
            walk.end(isComplete)
            if (isComplete && pages.length > 0) {
              kept.set(
                list,
                pages.reduce((sum, bytes) => sum + bytes, 0)
              )
            }
            if (isComplete && pages.length === 0) kept.set(list, 0)
            assert.isAtMost(
              [...kept.values()].reduce((sum, bytes) => sum + bytes, 0),
              limit
            )
          }
        }
      ),
      runs(300)
    ))
})
