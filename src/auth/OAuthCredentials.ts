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
import * as OAuthClients from "./oauth/oauthClients.js"
import { connectionError, type AuthContext, required, storeError } from "./AuthContext.js"
import { keepFresh, renew } from "./tokens/Renewal.js"
import * as OAuthScopes from "./oauth/oauthScopes.js"
import { isRenewable, isSameSettings, type LoginTarget, tokensOf } from "./login/LoginTarget.js"

/** A token that expires within this many milliseconds is not sent. */
const margin = 2000

/** How often a login for more scopes is requested before the server's demand is reported as unsatisfiable. */
const maxStepUps = 2

/** The time limit of a discovery. */
const lookBudget = "10 seconds"

export const make = (context: AuthContext, target: LoginTarget): Effect.Effect<Credentials, never, Scope.Scope> =>
  Effect.zipWith(Effect.scope, context.useMemory(target), (scope, loginState) => {
    const { server } = target
    const tokens = () => tokensOf(target, loginState.credential())

    const look: Effect.Effect<void, ConnectionError> = Effect.mapBoth(context.store.load(target), {
      onSuccess: (found) => void loginState.found(Option.getOrUndefined(found)),
      onFailure: (error) => storeError(server, error)
    })

    const prepare: Effect.Effect<void, ConnectionError> = Effect.gen(function* () {
      // A server that needs no login must not fail because of the store.
      yield* Effect.catchAll(look, ({ message }) =>
        Effect.logWarning("mcp.auth.store_unusable").pipe(
          Effect.annotateLogs({ "mcp.server": server, reason: message })
        )
      )
      yield* context.watch
      context.forkIn(scope)(keepFresh(context, target))
      const now = yield* Clock.currentTimeMillis
      const current = tokens()
      const isOver = current?.expiresAt !== undefined && current.expiresAt - margin <= now
      const isMissing = current === undefined && target.settings.grant === "client_credentials"
      if (isMissing || (isOver && isRenewable(target, current))) yield* renew(context, target, current?.accessToken)
    })

    const tooLittle = (scope: string | undefined): ConnectionError => {
      const granted = tokens()?.scope
      const { stepUps } = loginState
      loginState.wanted = scope ?? ""
      return !OAuthScopes.covers(stepUps.asked, scope) || stepUps.count < maxStepUps
        ? required(server, "the login does not allow this", { scope })
        : required(server, "the server refuses although the login was widened, again and again", {
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
      const discovery = yield* oauth.discover(fetch, { serverUrl, settings, ...loginState.wish })
      return issuer !== undefined && discovery.resourceMetadata !== undefined && discovery.issuer !== issuer
    }).pipe(
      Effect.timeoutTo({ duration: lookBudget, onTimeout: () => false, onSuccess: (moved) => moved }),
      Effect.orElseSucceed(() => false)
    )

    /** Fails with the kind of login that the server needs. Only metadata is requested. */
    const whatIsWanted: Effect.Effect<never, ConnectionError> = Effect.gen(function* () {
      const { scope } = loginState.wish ?? {}
      const wanted = required(server, "the server asks for a login", { scope })
      const { verdict } = loginState
      if (verdict !== undefined && isSameSettings(verdict.of, target.settings)) return yield* Effect.fail(verdict.error)
      const oauth = yield* context.oauth
      const fetch = yield* context.fetchFor(target)
      const { serverUrl, settings } = target
      const discovery = yield* Effect.mapError(
        oauth.discover(fetch, { serverUrl, settings, ...loginState.wish }),
        // A discovery that is unavailable now is repeated by the login.
        (failure) => (failure.kind === "unavailable" ? wanted : connectionError(server, failure))
      )
      if (!OAuthClients.isPossible(target, oauth, discovery)) {
        return yield* Effect.fail(OAuthClients.registrationRequired(target, discovery))
      }
      const inspect = yield* context.inspectFor(target)
      const registers = OAuthClients.given(target, oauth, discovery) === undefined
      yield* Effect.mapError(oauth.checkLogin(discovery, { settings, registers, inspect }), (failure) =>
        connectionError(server, failure)
      )
      return yield* Effect.fail(wanted)
    }).pipe(
      Effect.timeoutFail({
        duration: lookBudget,
        onTimeout: () => required(server, "the server asks for a login", { scope: loginState.wish?.scope })
      })
    )

    const unauthorized = ({ retries, sent }: Refusal): Effect.Effect<void, ConnectionError> =>
      Effect.gen(function* () {
        const refused = /^Bearer (.+)$/i.exec(sent.authorization ?? "")?.[1]
        const isNew = () => tokens() !== undefined && tokens()?.accessToken !== refused
        if (isNew() && retries < Infinity) return
        yield* look
        if (isNew() && retries < Infinity) return
        if (refused === undefined) {
          if (target.settings.grant === "client_credentials") return yield* renew(context, target, undefined)
          return yield* whatIsWanted
        }
        const { expiresAt } = tokens() ?? {}
        const isSurprising = expiresAt === undefined || expiresAt > (yield* Clock.currentTimeMillis)
        // The server would reject another new token, too.
        if (retries === Infinity || (retries > 0 && loginState.fresh === refused && isSurprising)) {
          return yield* required(server, "the server does not accept the login it was given", {
            scope: loginState.wish?.scope
          })
        }
        if (isSurprising && target.settings.grant === "authorization_code" && (yield* hasMoved)) {
          return yield* required(server, "the server has gone over to another authorization server")
        }
        yield* renew(context, target, refused)
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
          const shown = Secrets.make(Object.values(refusal.sent).flatMap((text) => [text, text.replace(/^\w+ /, "")]))
          const scope = OAuthScopes.askedFor(
            parseChallenge(refusal.challenge).scope,
            Secrets.union(loginState.secrets(), shown)
          )
          if (refusal.status === 403) return Effect.fail(tooLittle(scope))
          loginState.wish = { scope, resourceMetadataUrl: resourceMetadataIn(refusal.challenge) }
          return unauthorized(refusal)
        })
    }
  })

const resourceMetadataIn = (challenge: string): string | undefined => {
  const [, quoted, plain] = /resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))/i.exec(challenge) ?? []
  const url = quoted ?? plain
  return url !== undefined && URL.canParse(url) ? url : undefined
}
