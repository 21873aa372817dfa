/**
 * Scopes that end together. A scope closes what is in it one after the other; sessions that are each given time to end
 * politely would take that time one after the other, too. These all begin to end as soon as the first does.
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

export interface Member {
  readonly scope: Scope.Scope
  /** Ends it before its time, and none of the others. */
  readonly close: Effect.Effect<void>
}

export interface SharedScopes {
  /** A scope that ends with the caller's. */
  readonly fork: Effect.Effect<Member, never, Scope.Scope>
}

export const make = (): SharedScopes => {
  const families = new WeakMap<Scope.Scope, Set<Scope.CloseableScope>>()

  const closeAll = (family: Set<Scope.CloseableScope>) =>
    Effect.suspend(() => {
      const members = [...family]
      family.clear()
      return Effect.forEach(members, (scope) => Scope.close(scope, Exit.void), {
        concurrency: "unbounded",
        discard: true
      })
    })

  return {
    fork: Effect.gen(function* () {
      const parent = yield* Effect.scope
      const family = families.get(parent) ?? new Set<Scope.CloseableScope>()
      families.set(parent, family)
      const scope = yield* Scope.make()
      family.add(scope)
      // the parent's finalizers run from the last to the first: the first that runs ends all members, and waits for them
      const place = yield* Scope.fork(parent, ExecutionStrategy.sequential)
      yield* Scope.addFinalizer(
        place,
        Effect.suspend(() => (family.has(scope) ? closeAll(family) : Effect.void))
      )
      const close = Effect.suspend(() => {
        family.delete(scope)
        return Effect.zipRight(Scope.close(scope, Exit.void), Scope.close(place, Exit.void))
      })
      return { scope, close }
    }).pipe(Effect.uninterruptible)
  }
}
