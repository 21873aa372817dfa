/**
 * Changes of what is kept of a login. What there is stays, but for what is changed.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConnectionError } from "../../domain/Errors.js"
import type { Credential } from "../tokens/Credential.js"
import type { StoreFailed } from "../tokens/credentialStorePort.js"
import { type AuthContext, storeError } from "../AuthContext.js"
import type { LoginTarget } from "./LoginTarget.js"

export const load = (
  context: AuthContext,
  target: LoginTarget
): Effect.Effect<Credential | undefined, ConnectionError> =>
  Effect.mapBoth(context.store.load(target), {
    onSuccess: Option.getOrUndefined,
    onFailure: (error) => storeError(target.server, error)
  })

export const change = (
  context: AuthContext,
  target: LoginTarget,
  to: (before: Credential) => Credential
): Effect.Effect<void, ConnectionError> =>
  edit(context, target, to).pipe(
    context.store.exclusively(target),
    Effect.mapError((error) => storeError(target.server, error))
  )

/** Only under the lock. */
export const edit = (
  context: AuthContext,
  target: LoginTarget,
  to: (before: Credential) => Credential
): Effect.Effect<void, StoreFailed> =>
  Effect.gen(function* () {
    const { server, serverUrl } = target
    const before = Option.getOrElse(yield* context.store.load(target), (): Credential => ({ server, serverUrl }))
    const next = to(before)
    if (next === before) return
    // a record that says nothing is none
    const isEmpty = next.tokens === undefined && next.clientInfo === undefined && next.login === undefined
    yield* context.store.save(target, isEmpty ? Option.none() : Option.some(next))
  })
