/**
 * Provides the access token of a server and handles responses that reject it (401 and 403).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Credentials, Refusal } from "../connection/Credentials.js"
import { parseChallenge } from "../connection/http/httpFailure.js"
import type { ConnectionError } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import type { AuthContext } from "./AuthContext.js"
import { authRequired, isUnavailable, storeError } from "./authErrors.js"
import { keepFresh } from "./tokens/keepFresh.js"
import { renew } from "./tokens/Renewal.js"
import * as OAuthScopes from "./oauth/oauthScopes.js"
import { isSameSettings, type LoginTarget, tokensOf } from "./login/LoginTarget.js"
import { planLogin } from "./login/planLogin.js"

/** A token that expires within this many milliseconds is not sent. */
const expiryMargin = 2000

/** How often a login for more scopes is requested before the server's demand is reported as unsatisfiable. */
const maxStepUps = 2

/** The time limit of a discovery. */
const discoveryBudget = "10 seconds"

export const make = (context: AuthContext, target: LoginTarget): Effect.Effect<Credentials, never, Scope.Scope> =>
  Effect.zipWith(Effect.scope, context.useLoginState(target), (scope, loginState) => {
    const { server } = target
    const { usesLoginPage } = target.grant
    const tokens = () => tokensOf(target, loginState.credential())

    const loadStored: Effect.Effect<void, ConnectionError> = Effect.mapBoth(context.store.load(target), {
      onSuccess: (stored) => void loginState.adoptStored(Option.getOrUndefined(stored)),
      onFailure: (error) => storeError(server, error)
    })

    const prepare: Effect.Effect<void, ConnectionError> = Effect.gen(function* () {
      // A server that needs no login must not fail because of the store.
      yield* Effect.catchAll(loadStored, ({ message }) =>
        Effect.logWarning("mcp.auth.store_unusable").pipe(
          Effect.annotateLogs({ "mcp.server": server, reason: message })
        )
      )
      yield* context.watch
      context.forkIn(scope)(keepFresh(context, target))
      const now = yield* Clock.currentTimeMillis
      const current = tokens()
      const isExpired = current?.expiresAt !== undefined && current.expiresAt - expiryMargin <= now
      const isMissing = current === undefined && !usesLoginPage
      if (isMissing || (isExpired && target.grant.isRenewable(current)))
        yield* renew(context, target, current?.accessToken)
    })

    const insufficientScope = (scope: string | undefined): ConnectionError => {
      const granted = tokens()?.scope
      const { stepUps } = loginState
      loginState.missingScope = scope ?? ""
      return !OAuthScopes.covers(stepUps.requested, scope) || stepUps.count < maxStepUps
        ? authRequired(server, "the login does not allow this", { scope })
        : authRequired(server, "the server rejects the request, although repeated logins have granted more scopes", {
            scope: OAuthScopes.union(granted, scope),
            login: false
          })
    }

    /** Whether the server now uses another authorization server: then a refresh at the old one is useless. */
    const hasMoved = Effect.gen(function* () {
      const { issuer } = loginState.credential() ?? {}
      const oauth = yield* context.oauth
      const fetch = yield* context.fetchFor(target)
      const { serverUrl, settings } = target
      const discovery = yield* oauth.discover(fetch, { serverUrl, settings, ...loginState.challenge })
      return issuer !== undefined && discovery.resourceMetadata !== undefined && discovery.issuer !== issuer
    }).pipe(
      Effect.timeoutTo({ duration: discoveryBudget, onTimeout: () => false, onSuccess: (moved) => moved }),
      Effect.orElseSucceed(() => false)
    )

    /** Fails with the kind of login that the server needs. Only metadata is requested. */
    const requireLogin: Effect.Effect<never, ConnectionError> = Effect.gen(function* () {
      const { blocked, challenge } = loginState
      const required = authRequired(server, "the server requires a login", { scope: challenge?.scope })
      if (blocked !== undefined && isSameSettings(blocked.settings, target.settings)) {
        return yield* Effect.fail(blocked.error)
      }
      yield* planLogin(context, target, { challenge }).pipe(
        // The login repeats a discovery that is unavailable now.
        Effect.catchIf(isUnavailable, () => Effect.void),
        Effect.timeoutOption(discoveryBudget)
      )
      return yield* Effect.fail(required)
    })

    const unauthorized = ({ retries, sent }: Refusal): Effect.Effect<void, ConnectionError> =>
      Effect.gen(function* () {
        const rejected = /^Bearer (.+)$/i.exec(sent.authorization ?? "")?.[1]
        const isNew = () => tokens() !== undefined && tokens()?.accessToken !== rejected
        if (isNew() && retries < Infinity) return
        yield* loadStored
        if (isNew() && retries < Infinity) return
        if (rejected === undefined) {
          if (!usesLoginPage) return yield* renew(context, target, undefined)
          return yield* requireLogin
        }
        const { expiresAt } = tokens() ?? {}
        const isUnexpired = expiresAt === undefined || expiresAt > (yield* Clock.currentTimeMillis)
        // The server would reject another new token, too.
        if (retries === Infinity || (retries > 0 && loginState.latestToken === rejected && isUnexpired)) {
          return yield* authRequired(server, "the server does not accept the login", {
            scope: loginState.challenge?.scope
          })
        }
        if (isUnexpired && usesLoginPage && (yield* hasMoved)) {
          return yield* authRequired(server, "the server now uses another authorization server")
        }
        yield* renew(context, target, rejected)
      })

    return {
      prepare,
      headers: () => {
        const current = tokens()
        return current === undefined ? {} : { authorization: `Bearer ${current.accessToken}` }
      },
      secrets: loginState.secrets,
      refused: (refusal) =>
        Effect.suspend(() => {
          const sent = Secrets.make(Object.values(refusal.sent).flatMap((text) => [text, text.replace(/^\w+ /, "")]))
          const scope = OAuthScopes.askedFor(
            parseChallenge(refusal.challenge).scope,
            Secrets.union(loginState.secrets(), sent)
          )
          if (refusal.status === 403) return Effect.fail(insufficientScope(scope))
          loginState.challenge = { scope, resourceMetadataUrl: resourceMetadataIn(refusal.challenge) }
          return unauthorized(refusal)
        })
    }
  })

const resourceMetadataIn = (challenge: string): string | undefined => {
  const [, quoted, plain] = /resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))/i.exec(challenge) ?? []
  const url = quoted ?? plain
  return url !== undefined && URL.canParse(url) ? url : undefined
}
