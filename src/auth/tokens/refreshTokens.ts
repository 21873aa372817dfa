/**
 * Renews tokens with the refresh token of a login.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConnectionError } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import { authRequired, connectionError } from "../authErrors.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import type { Credential } from "./Credential.js"
import type { StoreFailed } from "./credentialStorePort.js"
import type { RenewalRequest } from "./Grant.js"
import * as TokenWriter from "./tokenWriter.js"

/** Fails if a person has to log in again. */
export const refreshTokens = (request: RenewalRequest): Effect.Effect<void, ConnectionError | StoreFailed> =>
  Effect.gen(function* () {
    const { context, stored, target, tokens } = request
    const { server, settings } = target
    if (stored === undefined || tokens === undefined) return yield* authRequired(server, "no login exists")
    const { clientInfo, discovery } = stored
    const { refreshToken } = tokens
    const isComplete = refreshToken !== undefined && clientInfo !== undefined && discovery !== undefined
    if (!isComplete || !target.grant.isRenewable(tokens)) return yield* authRequired(server, "the login has expired")
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const client = OAuthClients.withConfiguredSecret(target, clientInfo)
    const granted = yield* oauth.refresh(fetch, settings, client, discovery, refreshToken).pipe(
      Effect.interruptible,
      Effect.tapError(({ reason }) =>
        Effect.logDebug("mcp.auth.refresh_failed").pipe(Effect.annotateLogs({ "mcp.server": server, reason }))
      ),
      Effect.catchAll((failure) => afterFailure(request, stored, failure))
    )
    if (granted === undefined) return
    yield* TokenWriter.saveRenewed(context, target, stored, granted)
    context.onEvent(server, "refreshed")
  })

const afterFailure = (
  { context, target }: RenewalRequest,
  sent: Credential,
  failure: OAuthFailure
): Effect.Effect<undefined, ConnectionError | StoreFailed> =>
  Effect.gen(function* () {
    const { server } = target
    if (failure.kind === "unavailable") return yield* connectionError(server, failure)
    if (failure.kind !== "grant" && failure.kind !== "client") {
      return yield* authRequired(server, `the login could not be renewed (${failure.reason})`)
    }
    const loginState = context.loginState(target)
    loginState.adoptStored(Option.getOrUndefined(yield* context.store.load(target)))
    const current = loginState.credential()
    // The failure concerns the token that was sent. Another one has been stored since.
    if (current?.tokens !== undefined && current.tokens.refreshToken !== sent.tokens?.refreshToken) return undefined
    // A wrong client in the config says nothing about the token: it is valid again once the config is corrected.
    const isAboutConfig = failure.kind === "client" && sent.clientInfo?.registered !== true
    if (current?.tokens !== undefined && !isAboutConfig) {
      const next = rejected({ ...current, tokens: current.tokens }, failure)
      yield* context.store.save(target, Option.some(next))
      loginState.adopt(next)
    }
    return yield* connectionError(server, failure, sent.clientInfo)
  })

/** Marks the refresh token, so that it is not sent again, and removes a registered client that is unknown. */
const rejected = (
  { clientInfo, tokens, ...rest }: Credential & Required<Pick<Credential, "tokens">>,
  { kind }: OAuthFailure
): Credential => {
  const isUnknownClient = kind === "client" && clientInfo?.registered === true
  return { ...rest, tokens: { ...tokens, refused: true }, ...(isUnknownClient ? {} : defined({ clientInfo })) }
}
