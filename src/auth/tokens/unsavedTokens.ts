/**
 * Tokens that could not be written when they came.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Key, Service as Store, StoreFailed } from "./credentialStorePort.js"
import type { LoginState } from "../login/LoginState.js"

/** Tries to write them, unless somebody has written something newer. Only under the lock. */
export const save = (
  store: Store,
  { server, serverUrl }: Key,
  loginState: LoginState
): Effect.Effect<void, StoreFailed> =>
  Effect.gen(function* () {
    if (loginState.unsaved === undefined) return
    const found = Option.getOrUndefined(yield* store.load({ server, serverUrl }))
    loginState.found(found)
    const { unsaved } = loginState
    if (unsaved === undefined) return
    const next = { ...loginState.credential(), ...found, server, serverUrl, tokens: unsaved.tokens }
    yield* store.save({ server, serverUrl }, Option.some(next))
    if (loginState.unsaved === unsaved) loginState.unsaved = undefined
  })
