/**
 * Starts a login: plans it, reserves the callback address, registers a client if necessary, and creates the URL of the
 * login page.
 */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import type { AuthContext } from "../AuthContext.js"
import { connectionError } from "../authErrors.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthClients from "../oauth/oauthClients.js"
import type { PendingLogin } from "../tokens/Credential.js"
import type * as CallbackServer from "./CallbackServer.js"
import * as LoginRecord from "./loginRecord.js"
import type { LoginTarget } from "./LoginTarget.js"
import { prepareLogin } from "./planLogin.js"

export interface BegunLogin {
  readonly authorizationUrl: string
  readonly pending: PendingLogin
  /** Absent if the redirect URI is not on this machine: then the program passes the callback on. */
  readonly listener: CallbackServer.Listener | undefined
  /** The stored access token when the login started. */
  readonly tokenBefore: string | undefined
}

/** Listens for the callback while the scope is open. */
export const beginLogin = (
  context: AuthContext,
  callbacks: CallbackServer.CallbackServer,
  target: LoginTarget
): Effect.Effect<BegunLogin, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { server } = target
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const failing = Effect.mapError((failure: OAuthFailure) => connectionError(server, failure))
    const { configuredClient, discovery, scope, stored } = yield* prepareLogin(context, target)
    const now = yield* Clock.currentTimeMillis
    const registered = configuredClient === undefined ? OAuthClients.registered(stored, discovery, now) : undefined
    const { listener, redirectUri } = yield* reserveCallback(callbacks, target, {
      preferred: registered?.redirectUri,
      mayChange: configuredClient === undefined
    })
    const register = oauth.register(fetch, discovery, { clientName: context.clientInfo.name, redirectUri, scope })
    const reusable = registered?.redirectUri === redirectUri ? registered : undefined
    const client = configuredClient ?? reusable ?? (yield* failing(register))
    const state = randomBytes(32).toString("hex")
    const { authorizationUrl, codeVerifier } = yield* failing(
      oauth.begin(discovery, { client, redirectUri, scope, state })
    )
    const pending: PendingLogin = {
      oauthState: state,
      codeVerifier,
      redirectUri,
      issuer: discovery.issuer,
      clientInfo: client,
      discovery,
      startedAt: yield* Clock.currentTimeMillis,
      ...defined({ scope })
    }
    yield* LoginRecord.change(context, target, (before) => ({ ...before, login: pending }))
    return { authorizationUrl, tokenBefore: stored?.tokens?.accessToken, listener, pending }
  })

/** Listens on the redirect URI, or on another port if that one is busy and the redirect URI may change. */
const reserveCallback = (
  callbacks: CallbackServer.CallbackServer,
  target: LoginTarget,
  options: {
    /** The redirect URI of the registered client. */
    readonly preferred: string | undefined
    /** Whether a client can be registered for another redirect URI. */
    readonly mayChange: boolean
  }
) =>
  Effect.gen(function* () {
    const { server, settings } = target
    const isConfigured = settings.redirectUri !== undefined
    const redirectUri = (isConfigured ? undefined : options.preferred) ?? OAuthClients.redirectUriOf(target)
    const address = localAddress(redirectUri)
    if (address === undefined) return { redirectUri, listener: undefined }
    const mayChange = options.mayChange && !isConfigured
    const busy = ({ code, port }: CallbackServer.PortBusy): ConnectionError =>
      new AuthError({
        server,
        reason: "port_busy",
        detail: `port ${port} is used by another program (${code}); end that program, or set "oauth": { "${
          isConfigured ? "redirectUri" : "callbackPort"
        }": … } of this server to a free port that is registered for the client`
      })
    const listener = yield* callbacks.listen(address).pipe(
      Effect.catchAll((error) => (mayChange ? callbacks.listen({ ...address, port: 0 }) : Effect.fail(error))),
      Effect.mapError(busy)
    )
    if (listener.port === address.port) return { redirectUri, listener }
    const changed = new URL(redirectUri)
    changed.port = String(listener.port)
    return { redirectUri: changed.href, listener }
  })

const loopbackHosts: Readonly<Record<string, string>> = {
  localhost: OAuthClients.callbackHost,
  "127.0.0.1": OAuthClients.callbackHost,
  "[::1]": "::1"
}

/** The address to listen on for a redirect URI. `undefined` if it is not on this machine. */
const localAddress = (redirectUri: string): CallbackServer.CallbackAddress | undefined => {
  if (!URL.canParse(redirectUri)) return undefined
  const { hostname, pathname, port, protocol } = new URL(redirectUri)
  const host = loopbackHosts[hostname]
  return protocol !== "http:" || host === undefined ? undefined : { host, port: Number(port || 80), path: pathname }
}
