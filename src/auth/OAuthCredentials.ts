/**
 * What a server that wants a login gets to see, and what follows when it does not like it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Credentials, Refusal } from "../connection/Credentials.js"
import { parseChallenge } from "../connection/httpFailure.js"
import type { ConnectionError } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import * as Clients from "./clients.js"
import { connectionError, type Engine, required, storeError } from "./Engine.js"
import { keepFresh, renew } from "./Renewal.js"
import * as Scopes from "./scopes.js"
import { isRenewable, isSameSettings, type Subject, tokensOf } from "./Subject.js"

/** Milliseconds before its end at which a token is not worth sending. */
const margin = 2000

/** How often somebody may be sent to log in because the last login allowed too little. */
const maxStepUps = 2

/** How long it may take to find out what kind of login is wanted. */
const lookBudget = "10 seconds"

export const make = (engine: Engine, subject: Subject): Effect.Effect<Credentials, never, Scope.Scope> =>
  Effect.zipWith(Effect.scope, engine.useMemory(subject), (scope, memory) => {
    const { server } = subject
    const tokens = () => tokensOf(subject, memory.credential())

    const look: Effect.Effect<void, ConnectionError> = Effect.mapBoth(engine.store.load(subject), {
      onSuccess: (found) => void memory.found(Option.getOrUndefined(found)),
      onFailure: (error) => storeError(server, error)
    })

    const prepare: Effect.Effect<void, ConnectionError> = Effect.gen(function* () {
      // a server that wants no login has nothing to do with what is wrong with the store
      yield* Effect.catchAll(look, ({ message }) =>
        Effect.logWarning("mcp.auth.store_unusable").pipe(
          Effect.annotateLogs({ "mcp.server": server, reason: message })
        )
      )
      yield* engine.watch
      engine.forkIn(scope)(keepFresh(engine, subject))
      const now = yield* Clock.currentTimeMillis
      const current = tokens()
      const isOver = current?.expiresAt !== undefined && current.expiresAt - margin <= now
      const isMissing = current === undefined && subject.settings.grant === "client_credentials"
      if (isMissing || (isOver && isRenewable(subject, current))) yield* renew(engine, subject, current?.accessToken)
    })

    const tooLittle = (scope: string | undefined): ConnectionError => {
      const granted = tokens()?.scope
      const { stepUps } = memory
      memory.wanted = scope ?? ""
      return !Scopes.covers(stepUps.asked, scope) || stepUps.count < maxStepUps
        ? required(server, "the login does not allow this", { scope })
        : required(server, "the server refuses although the login was widened, again and again", {
            scope: Scopes.union(granted, scope),
            login: false
          })
    }

    /** Whether the server has gone over to another authorization server: then nothing of the old one is of use. */
    const hasMoved = Effect.gen(function* () {
      const { issuer } = memory.credential() ?? {}
      const oauth = yield* engine.oauth
      const fetch = yield* engine.fetchFor(subject)
      const { serverUrl, settings } = subject
      const discovery = yield* oauth.discover(fetch, { serverUrl, settings, ...memory.wish })
      return issuer !== undefined && discovery.resourceMetadata !== undefined && discovery.issuer !== issuer
    }).pipe(
      Effect.timeoutTo({ duration: lookBudget, onTimeout: () => false, onSuccess: (moved) => moved }),
      Effect.orElseSucceed(() => false)
    )

    /** Nobody has logged in: what would have to be done? Nothing is asked of anybody but to describe itself. */
    const whatIsWanted: Effect.Effect<never, ConnectionError> = Effect.gen(function* () {
      const { scope } = memory.wish ?? {}
      const wanted = required(server, "the server asks for a login", { scope })
      const { verdict } = memory
      if (verdict !== undefined && isSameSettings(verdict.of, subject.settings))
        return yield* Effect.fail(verdict.error)
      const oauth = yield* engine.oauth
      const fetch = yield* engine.fetchFor(subject)
      const { serverUrl, settings } = subject
      const discovery = yield* Effect.mapError(
        oauth.discover(fetch, { serverUrl, settings, ...memory.wish }),
        // what cannot be found out now is found out when somebody logs in
        (failure) => (failure.kind === "unavailable" ? wanted : connectionError(server, failure))
      )
      if (!Clients.isPossible(subject, oauth, discovery)) {
        return yield* Effect.fail(Clients.registrationRequired(subject, discovery))
      }
      const inspect = yield* engine.inspectFor(subject)
      const registers = Clients.given(subject, oauth, discovery) === undefined
      yield* Effect.mapError(oauth.checkLogin(discovery, { settings, registers, inspect }), (failure) =>
        connectionError(server, failure)
      )
      return yield* Effect.fail(wanted)
    }).pipe(
      Effect.timeoutFail({
        duration: lookBudget,
        onTimeout: () => required(server, "the server asks for a login", { scope: memory.wish?.scope })
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
          if (subject.settings.grant === "client_credentials") return yield* renew(engine, subject, undefined)
          return yield* whatIsWanted
        }
        const { expiresAt } = tokens() ?? {}
        const isSurprising = expiresAt === undefined || expiresAt > (yield* Clock.currentTimeMillis)
        // a new one every time would be no better
        if (retries === Infinity || (retries > 0 && memory.fresh === refused && isSurprising)) {
          return yield* required(server, "the server does not accept the login it was given", {
            scope: memory.wish?.scope
          })
        }
        if (isSurprising && subject.settings.grant === "authorization_code" && (yield* hasMoved)) {
          return yield* required(server, "the server has gone over to another authorization server")
        }
        yield* renew(engine, subject, refused)
      })

    return {
      prepare,
      headers: () => {
        const current = tokens()
        return current === undefined ? {} : { authorization: `Bearer ${current.accessToken}` }
      },
      secrets: memory.secrets,
      refused: (refusal) =>
        Effect.suspend(() => {
          const shown = Secrets.make(Object.values(refusal.sent).flatMap((text) => [text, text.replace(/^\w+ /, "")]))
          const scope = Scopes.askedFor(parseChallenge(refusal.challenge).scope, Secrets.union(memory.secrets(), shown))
          if (refusal.status === 403) return Effect.fail(tooLittle(scope))
          memory.wish = { scope, resourceMetadataUrl: resourceMetadataIn(refusal.challenge) }
          return unauthorized(refusal)
        })
    }
  })

const resourceMetadataIn = (challenge: string): string | undefined => {
  const [, quoted, plain] = /resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))/i.exec(challenge) ?? []
  const url = quoted ?? plain
  return url !== undefined && URL.canParse(url) ? url : undefined
}
