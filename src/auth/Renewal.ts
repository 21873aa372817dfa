/**
 * New tokens for old ones: once, however many need them, in this process and in all others.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { AuthError, type ConnectionError, RegistrationRequired } from "../domain/Errors.js"
import { defined } from "../domain/defined.js"
import { reveal } from "../domain/Secrets.js"
import type { ClientInfo, Credential, Tokens } from "./Credential.js"
import { connectionError, type Engine, required, storeError } from "./Engine.js"
import type { OAuthFailure } from "./OAuthFailure.js"
import * as Scopes from "./scopes.js"
import { isRenewable, type Subject, tokensOf } from "./Subject.js"
import type { Granted } from "./sdkOAuth.js"

/**
 * Brings other tokens than the one that is of no use (nothing, if there was none). Who asks for the same meanwhile gets the
 * same. It goes on when whoever asked is gone: tokens that were given must be kept.
 */
export const renew = (
  engine: Engine,
  subject: Subject,
  useless: string | undefined
): Effect.Effect<void, ConnectionError> =>
  Effect.suspend(() => {
    const memory = engine.memoryOf(subject)
    if (memory.renewal?.of === useless && memory.renewal !== undefined) return Deferred.await(memory.renewal.done)
    const done = Deferred.unsafeMake<void, ConnectionError>(FiberId.none)
    const renewal = { of: useless, done }
    memory.renewal = renewal
    engine.fork(
      renewNow(engine, subject, useless).pipe(
        Effect.uninterruptible,
        Effect.onExit((exit) =>
          Effect.suspend(() => {
            if (memory.renewal === renewal) memory.renewal = undefined
            return Deferred.done(done, exit)
          })
        )
      )
    )
    return Deferred.await(done)
  })

/** From the first look until the new tokens are kept, nobody else does the same. */
const renewNow = (engine: Engine, subject: Subject, useless: string | undefined) =>
  Effect.gen(function* () {
    const { server } = subject
    const memory = engine.memoryOf(subject)
    const found = Option.getOrUndefined(yield* engine.store.load(subject))
    memory.adopt(found)
    const tokens = tokensOf(subject, found)
    // somebody was faster
    if (tokens !== undefined && tokens.accessToken !== useless) return
    if (subject.settings.grant === "client_credentials") return yield* fetchOwn(engine, subject, found)
    if (found === undefined || tokens === undefined) return yield* required(server, "nobody has logged in yet")
    if (!isRenewable(subject, tokens)) return yield* required(server, "the login has expired")
    yield* refresh(engine, subject, found, tokens.refreshToken!)
  }).pipe(
    engine.store.exclusively(subject),
    Effect.catchTag("StoreFailed", (error) => Effect.fail(storeError(subject.server, error)))
  )

const refresh = (engine: Engine, subject: Subject, found: Credential, refreshToken: string) =>
  Effect.gen(function* () {
    const { server, settings } = subject
    const { clientInfo, discovery } = found
    if (clientInfo === undefined || discovery === undefined) return yield* required(server, "the login has expired")
    const oauth = yield* engine.oauth
    const fetch = yield* engine.fetchFor(subject)
    const client = withSecretOf(subject, clientInfo)
    const outcome = yield* Effect.either(oauth.refresh(fetch, settings, client, discovery, refreshToken))
    if (outcome._tag === "Right") {
      yield* keep(engine, subject, found, outcome.right)
      return engine.onEvent(server, "refreshed")
    }
    const failure = outcome.left
    yield* Effect.logDebug("mcp.auth.refresh_failed").pipe(
      Effect.annotateLogs({ "mcp.server": server, reason: failure.reason })
    )
    if (failure.kind === "grant" || failure.kind === "client") return yield* superseded(engine, subject, found, failure)
    if (failure.kind === "unavailable") return yield* connectionError(server, failure)
    return yield* required(server, `the login could not be renewed (${failure.reason})`)
  })

/** The verdict is about the token that was sent. If another one is kept by now, it says nothing. */
const superseded = (engine: Engine, subject: Subject, sent: Credential, failure: OAuthFailure) =>
  Effect.gen(function* () {
    const memory = engine.memoryOf(subject)
    const now = Option.getOrUndefined(yield* engine.store.load(subject))
    if (now?.tokens !== undefined && now.tokens.refreshToken !== sent.tokens?.refreshToken) {
      memory.adopt(now)
      return
    }
    // whoever was configured wrongly is corrected in the config, and then this token is as good as before
    const isAboutConfig = failure.kind === "client" && sent.clientInfo?.registered !== true
    if (now?.tokens !== undefined && !isAboutConfig) {
      // it is kept, but not tried again; who does not know us will not know us next time
      const { clientInfo, ...rest } = now
      const isForgotten = failure.kind === "client" && clientInfo?.registered === true
      const next = {
        ...rest,
        tokens: { ...now.tokens, refused: true },
        ...(isForgotten ? {} : defined({ clientInfo }))
      }
      yield* engine.store.save(subject, Option.some(next))
      memory.adopt(next)
    }
    return yield* connectionError(subject.server, failure, sent.clientInfo)
  })

/** A secret that was configured is not kept, and may have been changed. */
export const withSecretOf = ({ settings }: Subject, client: ClientInfo): ClientInfo => {
  if (client.registered || settings.clientSecret === undefined) return client
  return { ...client, clientSecret: reveal(settings.clientSecret) }
}

/** Keeps what was given, and from then on uses it. */
export const keep = (engine: Engine, subject: Subject, before: Credential, granted: Granted) =>
  Effect.gen(function* () {
    const memory = engine.memoryOf(subject)
    const at = yield* Clock.currentTimeMillis
    const tokens: Tokens = {
      accessToken: granted.accessToken,
      ...defined({
        refreshToken: granted.refreshToken,
        expiresAt: granted.expiresIn === undefined ? undefined : at + granted.expiresIn * 1000,
        // who says nothing about it gives what was asked for
        scope: granted.scope ?? before.tokens?.scope
      })
    }
    const next: Credential = { ...before, tokens }
    memory.fresh = tokens.accessToken
    // first of all: if it cannot be kept, the old one is of no more use either
    memory.adopt(next)
    yield* engine.store.save(subject, Option.some(next))
  })

/** A machine's own credentials: asked for as often as needed, with nothing but what is configured. */
const fetchOwn = (engine: Engine, subject: Subject, before: Credential | undefined) =>
  Effect.gen(function* () {
    const { server, serverUrl, settings } = subject
    const { clientId } = settings
    if (clientId === undefined) {
      const detail = `the grant "client_credentials" needs a client id`
      return yield* new RegistrationRequired({ server, detail })
    }
    const oauth = yield* engine.oauth
    const fetch = yield* engine.fetchFor(subject)
    const { wish } = engine.memoryOf(subject)
    const client = withSecretOf(subject, { clientId: reveal(clientId), registered: false })
    const { discovery, granted } = yield* Effect.gen(function* () {
      const discovery = yield* oauth.discover(fetch, { serverUrl, settings, ...wish })
      const scope = Scopes.select({
        configured: settings.scope,
        challenged: wish?.scope,
        supported: discovery.resourceMetadata?.scopes_supported
      })
      return { discovery, granted: yield* oauth.fetchOwn(fetch, settings, client, discovery, scope) }
    }).pipe(Effect.mapError((failure) => ownError(server, failure)))
    const { clientSecret: _, ...clientInfo } = client
    const { issuer } = discovery
    yield* keep(engine, subject, { server, serverUrl, issuer, clientInfo, discovery }, granted)
    if (before?.tokens !== undefined) engine.onEvent(server, "refreshed")
  })

const ownError = (server: string, failure: OAuthFailure): ConnectionError =>
  failure.kind === "grant"
    ? new AuthError({ server, reason: failure.reason, detail: "the authorization server gives this client no token" })
    : connectionError(server, failure)

// --- before it is too late ------------------------------------------------------------------------------------------

/** Milliseconds before the end of a token at which a new one is brought, at the earliest. */
const earliest = 5 * 60_000

/** Milliseconds between two tries, at the least. */
const shortestPause = 1000
const longestPause = 60_000

/** Milliseconds. Timers do not reach much further, and clocks are set meanwhile. */
const longestSleep = 6 * 60 * 60_000

/** Brings new tokens before the old ones end, as long as it runs. What cannot be had now is tried again. */
export const keepFresh = (engine: Engine, subject: Subject): Effect.Effect<never> =>
  Effect.gen(function* () {
    const memory = engine.memoryOf(subject)
    let failures = 0
    let given = false
    while (true) {
      const tokens = tokensOf(subject, memory.credential())
      if (tokens?.expiresAt === undefined || !isRenewable(subject, tokens) || given) {
        yield* memory.changed
        given = false
        continue
      }
      const remaining = tokens.expiresAt - (yield* Clock.currentTimeMillis)
      // not all processes at once
      const lead = Math.min(remaining * 0.2, earliest) * (0.5 + (yield* Random.next))
      const pause = Math.min(shortestPause * 2 ** failures, longestPause) * (0.5 + (yield* Random.next))
      const wait = failures === 0 ? Math.max(remaining - lead, shortestPause) : pause
      const due = Effect.as(Effect.sleep(Math.min(wait, longestSleep)), wait <= longestSleep)
      const isChanged = Effect.zipRight(
        memory.changed,
        Effect.sync(() => ((failures = 0), false))
      )
      if (!(yield* Effect.raceFirst(due, isChanged))) continue
      const outcome = yield* Effect.either(renew(engine, subject, tokens.accessToken))
      const isTransient =
        outcome._tag === "Left" && outcome.left._tag === "AuthError" && outcome.left.reason === "unavailable"
      failures = isTransient ? failures + 1 : 0
      // a verdict: whoever is refused next will be told
      given = outcome._tag === "Left" && !isTransient
    }
  })
