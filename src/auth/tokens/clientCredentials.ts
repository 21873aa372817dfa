/**
 * Requests tokens with the configured credentials of the client, without a person (grant `client_credentials`).
 */
import * as Effect from "effect/Effect"
import { AuthError, type ConnectionError, RegistrationRequired } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import { reveal } from "../../domain/Secrets.js"
import { connectionError } from "../authErrors.js"
import { planLogin } from "../login/planLogin.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import type { Credential } from "./Credential.js"
import type { RenewalRequest } from "./Grant.js"
import * as TokenWriter from "./tokenWriter.js"

export const requestClientTokens = (request: RenewalRequest): Effect.Effect<void, ConnectionError> =>
  Effect.gen(function* () {
    const { context, stored, target } = request
    const { server, serverUrl, settings } = target
    const { clientId } = settings
    if (clientId === undefined) {
      const detail = `the grant "client_credentials" requires "clientId"`
      return yield* new RegistrationRequired({ server, detail })
    }
    const clientInfo = { clientId: reveal(clientId), registered: false }
    const { discovery, granted } = yield* Effect.interruptible(requestGrant(request, clientInfo))
    const { issuer } = discovery
    const record: Credential = {
      server,
      serverUrl,
      issuer,
      clientInfo,
      discovery,
      ...defined({ tokens: stored?.tokens })
    }
    yield* TokenWriter.saveRenewed(context, target, record, granted)
    if (stored?.tokens !== undefined) context.onEvent(server, "refreshed")
  })

const requestGrant = Effect.fnUntraced(function* (
  { context, isExplicit, stored, target }: RenewalRequest,
  clientInfo: { readonly clientId: string; readonly registered: boolean }
) {
  const { server, settings } = target
  const oauth = yield* context.oauth
  const fetch = yield* context.fetchFor(target)
  const { challenge } = context.loginState(target)
  const { discovery, scope } = yield* planLogin(context, target, { challenge, stored })
  // A server must not redirect the client secret to a different authorization server.
  const isOther = stored?.issuer !== undefined && stored.issuer !== discovery.issuer
  if (isOther && !isExplicit && settings.tokenUrl === undefined) {
    return yield* connectionError(server, oauth.otherIssuer)
  }
  const client = OAuthClients.withConfiguredSecret(target, clientInfo)
  const granted = yield* Effect.mapError(
    oauth.requestClientToken(fetch, settings, client, discovery, scope),
    (failure) => errorOf(server, failure)
  )
  return { discovery, granted }
})

const errorOf = (server: string, failure: OAuthFailure): ConnectionError =>
  failure.kind === "grant"
    ? new AuthError({ server, reason: failure.reason, detail: "the authorization server gives this client no token" })
    : connectionError(server, failure)
