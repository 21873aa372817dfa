/**
 * Renews the tokens of a login once for all requests and processes that need new ones.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import type { AuthContext } from "../AuthContext.js"
import { storeError } from "../authErrors.js"
import { type LoginTarget, tokensOf } from "../login/LoginTarget.js"
import * as TokenWriter from "./tokenWriter.js"

/**
 * Replaces a token that is invalid or about to expire; `undefined` requests the first one. Concurrent callers share one
 * renewal. It continues if its callers are interrupted: issued tokens must be saved.
 */
export const renew = (
  context: AuthContext,
  target: LoginTarget,
  oldToken: string | undefined,
  /**
   * Whether a user asked for it. Then the client secret may also be sent to an authorization server that has not
   * received it before.
   */
  isExplicit = false
): Effect.Effect<void, ConnectionError> =>
  Effect.suspend(() => {
    const loginState = context.loginState(target)
    const { renewal: current } = loginState
    if (current !== undefined && current.oldToken === oldToken && !isExplicit) return Deferred.await(current.done)
    const done = Deferred.unsafeMake<void, ConnectionError>(FiberId.none)
    const renewal = { oldToken, done }
    loginState.renewal = renewal
    context.fork(
      renewNow(context, target, oldToken, isExplicit).pipe(
        Effect.uninterruptible,
        Effect.onExit((exit) =>
          Effect.suspend(() => {
            if (loginState.renewal === renewal) loginState.renewal = undefined
            return Deferred.done(done, Exit.isInterrupted(exit) ? Exit.fail(closedError(target)) : exit)
          })
        )
      )
    )
    return Deferred.await(done)
  })

const closedError = ({ server }: LoginTarget): ConnectionError =>
  new AuthError({ server, reason: "unavailable", detail: "the supervisor was closed in the meantime" })

/** Holds the lock of the login until the new tokens are saved. Only the requests to the authorization server can be interrupted. */
const renewNow = (context: AuthContext, target: LoginTarget, oldToken: string | undefined, isExplicit: boolean) =>
  Effect.gen(function* () {
    const { store } = context
    const loginState = context.loginState(target)
    yield* Effect.ignore(TokenWriter.saveUnsaved(store, target, loginState))
    loginState.adoptStored(Option.getOrUndefined(yield* store.load(target)))
    const stored = loginState.credential()
    const tokens = tokensOf(target, stored)
    // The token was renewed in the meantime.
    if (tokens !== undefined && tokens.accessToken !== oldToken) return
    yield* target.grant.renew({ context, target, stored, tokens, isExplicit })
  }).pipe(
    context.store.exclusively(target),
    Effect.catchTag("StoreFailed", (error) => Effect.fail(storeError(target.server, error)))
  )
