/**
 * Completes a login: exchanges the code of the callback for tokens and saves them.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import type { AuthContext } from "../AuthContext.js"
import { authRequired, connectionError, loginError, storeError } from "../authErrors.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import type { Credential, PendingLogin } from "../tokens/Credential.js"
import type { StoreFailed } from "../tokens/credentialStorePort.js"
import * as TokenWriter from "../tokens/tokenWriter.js"
import * as LoginRecord from "./loginRecord.js"
import * as LoginState from "./LoginState.js"
import type { LoginTarget } from "./LoginTarget.js"
import { isCompletedElsewhere, isPendingIn, markClientDoubtful } from "./pendingLogin.js"

export interface Completion {
  readonly target: LoginTarget
  readonly pending: PendingLogin
  readonly params: URLSearchParams
  /** The state of a login that this process started. Absent for a login of another process. */
  readonly local?:
    | {
        /** The stored access token when the login started. */
        readonly tokenBefore: string | undefined
        /** Whether the login has ended. Then its tokens are not saved. */
        readonly isEnded: boolean
      }
    | undefined
}

export const unexpectedCallback = "no login waits for this callback, or the callback was used before"

/**
 * Holds the lock of the login until the tokens are saved, because a code can be used only once. An interrupt during the
 * request to the authorization server ends the login; tokens that have been issued are saved.
 */
export const completeLogin: (context: AuthContext, completion: Completion) => Effect.Effect<void, AuthError> =
  Effect.fnUntraced(
    function* (context, completion) {
      const { local, pending, target } = completion
      const { server } = target
      const loginState = context.loginState(target)
      const record = Option.getOrUndefined(yield* context.store.load(target))
      if (local === undefined && !isPendingIn(record, pending)) {
        return yield* new AuthError({ server, reason: "state_mismatch", detail: unexpectedCallback })
      }
      if (local !== undefined && isCompletedElsewhere(local, record)) {
        if (loginState.adoptStored(record)) context.onChange(server, false)
        return
      }
      yield* exchangeAndSave(context, completion, record).pipe(
        Effect.tapError((failure) => Effect.ignore(afterFailure(context, completion, failure)))
      )
      countStepUp(loginState)
      context.onEvent(server, "login_finished")
      context.onChange(server, false)
    },
    (effect, context, { pending, target }) =>
      effect.pipe(
        context.store.exclusively(target),
        Effect.mapError((failure) => toAuthError(target, pending, failure)),
        Effect.uninterruptible
      )
  )

const exchangeAndSave = Effect.fnUntraced(function* (
  context: AuthContext,
  completion: Completion,
  record: Credential | undefined
) {
  const { local, pending, target } = completion
  const { server, serverUrl } = target
  const granted = yield* Effect.interruptible(exchangeCode(context, completion))
  if (local?.isEnded === true) {
    return yield* new AuthError({ server, reason: "interrupted", detail: "the login was ended in the meantime" })
  }
  const { clientInfo, discovery, issuer, scope } = pending
  // A login that another process has started since then stays pending.
  const login = isPendingIn(record, pending) ? undefined : record?.login
  const credential: Credential = { server, serverUrl, issuer, clientInfo, discovery, ...defined({ login }) }
  yield* TokenWriter.saveLogin(context, target, credential, { ...granted, scope: granted.scope ?? scope })
})

const exchangeCode = Effect.fnUntraced(function* (context: AuthContext, { params, pending, target }: Completion) {
  const oauth = yield* context.oauth
  const fetch = yield* context.fetchFor(target)
  // RFC 9207: the issuer comes first, because the other parameters may come from an attacker.
  yield* oauth.checkIssuer(pending, params.getAll("iss"))
  const error = params.get("error")
  if (error !== null) return yield* oauth.ofCode(error)
  const code = params.get("code") ?? ""
  if (code === "") {
    return yield* authRequired(target.server, "the authorization server returned neither a code nor an error")
  }
  const clientInfo = OAuthClients.withConfiguredSecret(target, pending.clientInfo)
  return yield* oauth.exchange(fetch, target.settings, { ...pending, clientInfo }, code)
})

/** Counts logins for missing scopes, so that a server cannot demand them endlessly. */
const countStepUp = (loginState: LoginState.LoginState): void => {
  const { missingScope, stepUps } = loginState
  if (missingScope === undefined) loginState.stepUps = LoginState.noStepUps
  else {
    const count = OAuthScopes.covers(stepUps.requested, missingScope) ? stepUps.count + 1 : 1
    loginState.stepUps = { requested: OAuthScopes.union(stepUps.requested, missingScope), count }
  }
  loginState.missingScope = undefined
}

/** Keeps the pending login if a retry with the same callback can succeed, and removes it otherwise. */
const afterFailure = (context: AuthContext, { pending, target }: Completion, failure: CompletionFailure) =>
  Effect.suspend(() => {
    context.onEvent(target.server, "login_failed")
    if (toAuthError(target, pending, failure).reason === "unavailable") return Effect.void
    const isClientUnknown = failure._tag === "OAuthFailure" && failure.kind === "client"
    return LoginRecord.changeLocked(context, target, (record) => {
      const { login: _, ...withoutLogin } = record
      // Another process may have started another login.
      const next = isPendingIn(record, pending) ? withoutLogin : record
      return isClientUnknown ? markClientDoubtful(next, pending) : next
    })
  })

type CompletionFailure = OAuthFailure | StoreFailed | ConnectionError

const toAuthError = ({ server }: LoginTarget, { clientInfo }: PendingLogin, failure: CompletionFailure): AuthError => {
  switch (failure._tag) {
    case "OAuthFailure":
      return loginError(connectionError(server, failure, clientInfo))
    case "StoreFailed":
      return storeError(server, failure)
    default:
      return loginError(failure)
  }
}
