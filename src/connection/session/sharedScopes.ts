/**
 * Creates scopes that close concurrently. A scope runs its finalizers one after the other; if each session has some time to
 * shut down, these times would add up. Here all scopes of a parent begin to close with the first one.
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

export interface MemberScope {
  readonly scope: Scope.Scope
  /** Closes only this scope, before the parent closes. */
  readonly close: Effect.Effect<void>
}

export interface SharedScopes {
  /** A scope that closes with the caller's scope. */
  readonly fork: Effect.Effect<MemberScope, never, Scope.Scope>
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
      // The parent runs its finalizers from the last to the first: the first of these closes all members and waits for them.
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
