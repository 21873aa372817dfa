/**
 * Loads and changes the stored credential of a login.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConnectionError } from "../../domain/Errors.js"
import type { AuthContext } from "../AuthContext.js"
import { storeError } from "../authErrors.js"
import type { Credential } from "../tokens/Credential.js"
import type { StoreFailed } from "../tokens/credentialStorePort.js"
import type { LoginTarget } from "./LoginTarget.js"

export const load = (
  context: AuthContext,
  target: LoginTarget
): Effect.Effect<Credential | undefined, ConnectionError> =>
  Effect.mapBoth(context.store.load(target), {
    onSuccess: Option.getOrUndefined,
    onFailure: (error) => storeError(target.server, error)
  })

/** Changes the stored credential under the lock of the login. */
export const change = (
  context: AuthContext,
  target: LoginTarget,
  update: (before: Credential) => Credential
): Effect.Effect<void, ConnectionError> =>
  changeLocked(context, target, update).pipe(
    context.store.exclusively(target),
    Effect.mapError((error) => storeError(target.server, error))
  )

/** Changes the stored credential. The caller holds the lock of the login. */
export const changeLocked = Effect.fnUntraced(function* (
  { store }: AuthContext,
  target: LoginTarget,
  update: (before: Credential) => Credential
): Effect.fn.Return<void, StoreFailed> {
  const { server, serverUrl } = target
  const before = Option.getOrElse(yield* store.load(target), (): Credential => ({ server, serverUrl }))
  const next = update(before)
  if (next === before) return
  const isEmpty = next.tokens === undefined && next.clientInfo === undefined && next.login === undefined
  yield* store.save(target, isEmpty ? Option.none() : Option.some(next))
})
