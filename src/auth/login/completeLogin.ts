/**
 * The end of a login: what the browser brought is exchanged for tokens, and they are kept.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import type { Credential, Pending } from "../tokens/Credential.js"
import type { StoreFailed } from "../tokens/credentialStorePort.js"
import { connectionError, type AuthContext, loginError, required, storeError } from "../AuthContext.js"
import * as LoginRecord from "./loginRecord.js"
import * as LoginState from "./LoginState.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import { doubting, isDoneElsewhere, isOf } from "./pendingLogin.js"
import * as Renewal from "../tokens/Renewal.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import type { LoginTarget } from "./LoginTarget.js"

/** What is known of a login that was begun by this process. */
export interface LocalCallback {
  /** The token there was when it began. */
  readonly before: string | undefined
  /** It is over, however it ended: what is still brought is not kept. */
  readonly isEnded: boolean
}

export const notWaitedFor = "this is not the answer to the login that is waited for, or it was brought already"

/**
 * From the first look until the tokens are kept, nobody else does the same: what was brought is good for once. Who interrupts
 * it while it waits for the authorization server gives it up; tokens that were given are kept.
 */
export const completeLogin = (
  context: AuthContext,
  target: LoginTarget,
  pending: Pending,
  params: URLSearchParams,
  here?: LocalCallback | undefined
): Effect.Effect<void, AuthError> =>
  Effect.gen(function* () {
    const { server, serverUrl } = target
    const failed = (reason: string, detail: string) => new AuthError({ server, reason, detail })
    const loginState = context.memoryOf(target)
    const record = Option.getOrUndefined(yield* context.store.load(target))
    if (here === undefined && !isOf(record, pending)) return yield* failed("state_mismatch", notWaitedFor)
    if (here !== undefined && isDoneElsewhere(here, record)) {
      return void (loginState.found(record) && context.onChange(server, false))
    }
    const { clientInfo, discovery, issuer, scope } = pending
    const others = isOf(record, pending) ? undefined : record?.login
    const next: Credential = { server, serverUrl, issuer, clientInfo, discovery, ...defined({ login: others }) }
    yield* Effect.gen(function* () {
      const granted = yield* Effect.interruptible(exchange(context, target, pending, params))
      if (here?.isEnded === true) return yield* failed("interrupted", "the login was ended meanwhile")
      yield* Renewal.keep(context, target, next, { ...granted, scope: granted.scope ?? scope })
    }).pipe(Effect.tapError((failure) => Effect.ignore(clear(context, target, pending, failure))))
    const { stepUps, wanted } = loginState
    const count = OAuthScopes.covers(stepUps.asked, wanted) ? stepUps.count + 1 : 1
    loginState.stepUps =
      wanted === undefined ? LoginState.noStepUps : { asked: OAuthScopes.union(stepUps.asked, wanted), count }
    loginState.wanted = undefined
    context.onEvent(server, "login_finished")
    context.onChange(server, false)
  }).pipe(
    context.store.exclusively(target),
    Effect.mapError((failure) => errorOf(target, pending, failure)),
    Effect.uninterruptible
  )

/** Exchanges what was brought for tokens. */
const exchange = (context: AuthContext, target: LoginTarget, pending: Pending, params: URLSearchParams) =>
  Effect.gen(function* () {
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    // before anything else that it says: it may be from somebody else
    yield* oauth.checkIssuer(pending, params.getAll("iss"))
    const error = params.get("error")
    const code = params.get("code") ?? ""
    if (error !== null) return yield* oauth.ofCode(error)
    if (code === "") return yield* required(target.server, "the authorization server gave neither a code nor a reason")
    const clientInfo = Renewal.withSecretOf(target, pending.clientInfo)
    return yield* oauth.exchange(fetch, target.settings, { ...pending, clientInfo }, code)
  })

/** After a failure: what may still work can be tried again with the same answer, all else is forgotten. */
const clear = (context: AuthContext, target: LoginTarget, pending: Pending, failure: Failure) =>
  Effect.suspend(() => {
    context.onEvent(target.server, "login_failed")
    if (errorOf(target, pending, failure).reason === "unavailable") return Effect.void
    const isUnknown = failure._tag === "OAuthFailure" && failure.kind === "client"
    return LoginRecord.edit(context, target, (before) => {
      // another process may have begun another one
      const { login: _, ...rest } = before
      const left = isOf(before, pending) ? rest : before
      return isUnknown ? doubting(left, pending) : left
    })
  })

type Failure = OAuthFailure | StoreFailed | ConnectionError

const errorOf = ({ server }: LoginTarget, { clientInfo }: Pending, failure: Failure): AuthError => {
  if (failure._tag === "OAuthFailure") return loginError(connectionError(server, failure, clientInfo))
  return failure._tag === "StoreFailed" ? storeError(server, failure) : loginError(failure)
}
