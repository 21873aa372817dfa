import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import * as SharedScopes from "../../src/connection/session/sharedScopes.js"

const slow = (journal: Array<string>, name: string) =>
  Effect.addFinalizer(() =>
    Effect.sync(() => journal.push(`${name} begins`)).pipe(
      Effect.zipRight(Effect.sleep("3 seconds")),
      Effect.zipRight(Effect.sync(() => journal.push(`${name} ends`)))
    )
  )

describe("forked scopes", () => {
  it.effect("close concurrently with their parent, before its own finalizers", () =>
    Effect.gen(function* () {
      const scopes = SharedScopes.make()
      const parent = yield* Scope.make()
      const journal: Array<string> = []
      yield* Effect.addFinalizer(() => Effect.sync(() => journal.push("the parent's own"))).pipe(Scope.extend(parent))
      for (const name of ["a", "b", "c"]) {
        const { scope } = yield* Scope.extend(scopes.fork, parent)
        yield* Scope.extend(slow(journal, name), scope)
      }
      const closing = yield* Effect.fork(Scope.close(parent, Exit.void))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(journal.slice(0, 3).toSorted(), ["a begins", "b begins", "c begins"])
      assert.strictEqual(journal.at(-1), "the parent's own")
      assert.lengthOf(journal, 7)
    })
  )

  it.effect("close alone when closed early, and only once", () =>
    Effect.gen(function* () {
      const scopes = SharedScopes.make()
      const parent = yield* Scope.make()
      const journal: Array<string> = []
      const ended = yield* Deferred.make<void>()
      const first = yield* Scope.extend(scopes.fork, parent)
      const second = yield* Scope.extend(scopes.fork, parent)
      yield* Scope.addFinalizer(
        first.scope,
        Effect.sync(() => journal.push("first"))
      )
      yield* Scope.addFinalizer(
        second.scope,
        Effect.zipRight(
          Effect.sync(() => journal.push("second")),
          Deferred.succeed(ended, undefined)
        )
      )
      yield* first.close
      assert.deepStrictEqual(journal, ["first"])
      yield* Scope.close(parent, Exit.void)
      yield* Deferred.await(ended)
      assert.deepStrictEqual(journal, ["first", "second"])
    })
  )
})
