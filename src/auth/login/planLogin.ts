/**
 * Decides how to log in to a server: at which authorization server, as which client and with which scope. Sends only
 * requests for metadata.
 */
import * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import { reveal } from "../../domain/Secrets.js"
import type { AuthContext } from "../AuthContext.js"
import { connectionError } from "../authErrors.js"
import type { OnStep } from "../oauth/DiscoveryStep.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import type { ClientInfo, Credential, Discovery } from "../tokens/Credential.js"
import * as LoginRecord from "./loginRecord.js"
import type { LoginChallenge } from "./LoginState.js"
import type { LoginTarget } from "./LoginTarget.js"

export interface LoginPlan {
  readonly discovery: Discovery
  /** The client from the config. `undefined` if a client has to be registered. */
  readonly configuredClient: ClientInfo | undefined
  readonly scope: string | undefined
}

export interface PlanOptions {
  readonly challenge: LoginChallenge | undefined
  /** The stored credential: a login for a missing scope also requests the scope that was granted before. */
  readonly stored?: Credential | undefined
  /** Called for each request of the discovery. Must not throw. */
  readonly onStep?: OnStep
}

/** Fails if no login is possible, with the error that a login reports. */
export const planLogin = (
  context: AuthContext,
  target: LoginTarget,
  { challenge, onStep, stored }: PlanOptions
): Effect.Effect<LoginPlan, ConnectionError> =>
  Effect.gen(function* () {
    const { grant, server, serverUrl, settings } = target
    const { missingScope } = context.loginState(target)
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const inspect = yield* context.inspectFor(target)
    const failing = Effect.mapError((failure: OAuthFailure) => connectionError(server, failure))
    const discovery = yield* failing(oauth.discover(fetch, { serverUrl, settings, onStep, ...challenge }))
    const configuredClient = OAuthClients.configured(target, oauth, discovery)
    if (configuredClient === undefined && !oauth.supportsRegistration(discovery)) {
      return yield* Effect.fail<ConnectionError>(OAuthClients.registrationRequired(target, discovery))
    }
    const registers = configuredClient === undefined
    yield* failing(oauth.checkLogin(discovery, { settings, registers, inspect }))
    const { metadata, resourceMetadata } = discovery
    const scope = OAuthScopes.select({
      configured: settings.scope,
      supported: resourceMetadata?.scopes_supported,
      ...(grant.usesLoginPage
        ? {
            challenged: missingScope ?? challenge?.scope,
            granted: missingScope === undefined ? undefined : stored?.tokens?.scope,
            known: metadata?.scopes_supported
          }
        : { challenged: challenge?.scope })
    })
    return { discovery, configuredClient, scope }
  })

/**
 * Plans a login for a user, who may not have connected the server before: requests its challenge, unless it is known.
 */
export const prepareLogin = Effect.fnUntraced(function* (
  context: AuthContext,
  target: LoginTarget,
  onStep?: OnStep
): Effect.fn.Return<LoginPlan & { readonly stored: Credential | undefined }, ConnectionError> {
  const { server, serverUrl, settings } = target
  const oauth = yield* context.oauth
  if (settings.clientId === undefined && settings.clientMetadataUrl !== undefined) {
    yield* Effect.mapError(oauth.checkMetadataUrl(reveal(settings.clientMetadataUrl)), (failure) =>
      connectionError(server, failure)
    )
  }
  const fetch = yield* context.fetchFor(target)
  const challenge = context.loginState(target).challenge ?? (yield* oauth.requestChallenge(fetch, serverUrl, onStep))
  const stored = yield* LoginRecord.load(context, target)
  return { ...(yield* planLogin(context, target, { challenge, stored, onStep })), stored }
})
