/**
 * The beginning of a login: which authorization server, who we are to it, where people come back to, and the page that all of
 * this makes.
 */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import { reveal } from "../../domain/Secrets.js"
import type * as CallbackServer from "./CallbackServer.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import type { ClientInfo, Pending } from "../tokens/Credential.js"
import { connectionError, type AuthContext } from "../AuthContext.js"
import * as LoginRecord from "./loginRecord.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import { placeIn, withoutConfigured } from "./pendingLogin.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import type { LoginTarget } from "./LoginTarget.js"

export interface BegunLogin {
  readonly authorizationUrl: string
  /** As it is kept beside what there is. */
  readonly pending: Pending
  /** Nothing where somebody else is there to take people. */
  readonly listener: CallbackServer.Listener | undefined
  /** The token there was. */
  readonly before: string | undefined
}

/** Listens as long as the scope is open. */
export const beginLogin = (
  context: AuthContext,
  callbacks: CallbackServer.CallbackServer,
  target: LoginTarget
): Effect.Effect<BegunLogin, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { server, serverUrl, settings } = target
    const loginState = context.memoryOf(target)
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const failing = Effect.mapError((failure: OAuthFailure) => connectionError(server, failure))
    const wish = loginState.wish ?? (yield* oauth.ask(fetch, serverUrl))
    const discovery = yield* failing(oauth.discover(fetch, { serverUrl, settings, ...wish }))
    const found = yield* LoginRecord.load(context, target)
    const granted = loginState.wanted === undefined ? undefined : found?.tokens?.scope
    const scope = OAuthScopes.select({
      configured: settings.scope,
      challenged: loginState.wanted ?? wish.scope,
      granted,
      supported: discovery.resourceMetadata?.scopes_supported,
      known: discovery.metadata?.scopes_supported
    })
    if (settings.clientId === undefined && settings.clientMetadataUrl !== undefined) {
      yield* failing(oauth.checkMetadataUrl(reveal(settings.clientMetadataUrl)))
    }
    const given = OAuthClients.given(target, oauth, discovery)
    if (given === undefined && !oauth.takesRegistrations(discovery)) {
      return yield* Effect.fail<ConnectionError>(OAuthClients.registrationRequired(target, discovery))
    }
    const inspect = yield* context.inspectFor(target)
    yield* failing(oauth.checkLogin(discovery, { settings, registers: given === undefined, inspect }))
    const known = given === undefined ? OAuthClients.known(found, discovery, yield* Clock.currentTimeMillis) : undefined
    const { listener, redirectUri } = yield* placeFor(callbacks, target, known, given === undefined)
    const isUsable = known !== undefined && known.redirectUri === redirectUri
    const register = oauth.register(fetch, discovery, { clientName: context.clientInfo.name, redirectUri, scope })
    const client = given ?? (isUsable ? known : yield* failing(register))
    const state = randomBytes(32).toString("hex")
    const { authorizationUrl, codeVerifier } = yield* failing(
      oauth.begin(discovery, { client, redirectUri, scope, state })
    )
    const pending: Pending = {
      oauthState: state,
      codeVerifier,
      redirectUri,
      issuer: discovery.issuer,
      clientInfo: withoutConfigured(client),
      discovery,
      startedAt: yield* Clock.currentTimeMillis,
      ...defined({ scope })
    }
    yield* LoginRecord.change(context, target, (before) => ({ ...before, login: pending }))
    return { authorizationUrl, before: found?.tokens?.accessToken, listener, pending }
  })

/** Where people come back to: the address that is registered, if it is free; another one only if we may register it. */
const placeFor = (
  callbacks: CallbackServer.CallbackServer,
  target: LoginTarget,
  known: ClientInfo | undefined,
  mayRegister: boolean
) =>
  Effect.gen(function* () {
    const { server, settings } = target
    const preferred = settings.redirectUri === undefined ? known?.redirectUri : undefined
    const redirectUri = preferred ?? OAuthClients.redirectUriOf(target)
    const place = placeIn(redirectUri)
    // somebody else is there to take them, and brings us what he was given
    if (place === undefined) return { redirectUri, listener: undefined }
    const isFixed = settings.redirectUri !== undefined || !mayRegister
    const busy = ({ code, port }: CallbackServer.PortBusy): ConnectionError =>
      new AuthError({
        server,
        reason: "port_busy",
        detail: `port ${port} is taken by another program (${code}); end that one, or set "oauth": { "${
          settings.redirectUri === undefined ? "callbackPort" : "redirectUri"
        }": … } of this server to a free one that is registered for the client`
      })
    const listener = yield* callbacks.listen(place).pipe(
      Effect.catchAll((error) => (isFixed ? Effect.fail(error) : callbacks.listen({ ...place, port: 0 }))),
      Effect.mapError(busy)
    )
    if (listener.port === place.port) return { redirectUri, listener }
    const elsewhere = new URL(redirectUri)
    elsewhere.port = String(listener.port)
    return { redirectUri: elsewhere.href, listener }
  })
