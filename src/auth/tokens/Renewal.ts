/**
 * New tokens for old ones: once, however many need them, in this process and in all others.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { AuthError, type ConnectionError, RegistrationRequired } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import { reveal } from "../../domain/Secrets.js"
import type { ClientInfo, Credential, Discovery, Tokens } from "./Credential.js"
import type { StoreFailed } from "./credentialStorePort.js"
import { connectionError, type AuthContext, required, storeError } from "../AuthContext.js"
import type { OAuthFailure } from "../oauth/OAuthFailure.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import { isRenewable, type LoginTarget, tokensOf } from "../login/LoginTarget.js"
import type { Granted } from "../oauth/sdkOAuth.js"
import * as UnsavedTokens from "./unsavedTokens.js"

/**
 * Brings other tokens than the one that is of no use (nothing, if there was none). Who asks for the same meanwhile gets the
 * same. It goes on when whoever asked is gone: tokens that were given must be kept.
 */
export const renew = (
  context: AuthContext,
  target: LoginTarget,
  useless: string | undefined,
  /** Somebody asked for it: then a machine's secret may also go to an authorization server that it did not go to before. */
  isExplicit = false
): Effect.Effect<void, ConnectionError> =>
  Effect.suspend(() => {
    const loginState = context.memoryOf(target)
    const isUnderWay = loginState.renewal !== undefined && loginState.renewal.of === useless
    if (isUnderWay && !isExplicit) return Deferred.await(loginState.renewal!.done)
    const done = Deferred.unsafeMake<void, ConnectionError>(FiberId.none)
    const renewal = { of: useless, done }
    loginState.renewal = renewal
    context.fork(
      renewNow(context, target, useless, isExplicit).pipe(
        Effect.uninterruptible,
        Effect.onExit((exit) =>
          Effect.suspend(() => {
            if (loginState.renewal === renewal) loginState.renewal = undefined
            return Deferred.done(done, Exit.isInterrupted(exit) ? Exit.fail(closed(target)) : exit)
          })
        )
      )
    )
    return Deferred.await(done)
  })

const closed = ({ server }: LoginTarget): ConnectionError =>
  new AuthError({ server, reason: "unavailable", detail: "the supervisor was closed meanwhile" })

/**
 * From the first look until the new tokens are kept, nobody else does the same. At the end of everything, what the
 * authorization server has not answered by then is given up.
 */
const renewNow = (context: AuthContext, target: LoginTarget, useless: string | undefined, isExplicit: boolean) =>
  Effect.gen(function* () {
    const { server } = target
    yield* Effect.ignore(saveRest(context, target))
    const found = yield* reload(context, target)
    const tokens = tokensOf(target, found)
    // somebody was faster
    if (tokens !== undefined && tokens.accessToken !== useless) return
    if (target.settings.grant === "client_credentials") {
      return yield* fetchOwn(context, target, found, isExplicit)
    }
    if (found === undefined || tokens === undefined) return yield* required(server, "nobody has logged in yet")
    if (!isRenewable(target, tokens)) return yield* required(server, "the login has expired")
    yield* refresh(context, target, found, tokens.refreshToken!)
  }).pipe(
    context.store.exclusively(target),
    Effect.catchTag("StoreFailed", (error) => Effect.fail(storeError(target.server, error)))
  )

const refresh = (context: AuthContext, target: LoginTarget, found: Credential, refreshToken: string) =>
  Effect.gen(function* () {
    const { server, settings } = target
    const { clientInfo, discovery } = found
    if (clientInfo === undefined || discovery === undefined) return yield* required(server, "the login has expired")
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const client = withSecretOf(target, clientInfo)
    const outcome = yield* Effect.either(
      Effect.interruptible(oauth.refresh(fetch, settings, client, discovery, refreshToken))
    )
    if (outcome._tag === "Right") {
      yield* keepRenewed(context, target, found, outcome.right)
      return context.onEvent(server, "refreshed")
    }
    const failure = outcome.left
    yield* Effect.logDebug("mcp.auth.refresh_failed").pipe(
      Effect.annotateLogs({ "mcp.server": server, reason: failure.reason })
    )
    if (failure.kind === "grant" || failure.kind === "client") return yield* superseded(context, target, found, failure)
    if (failure.kind === "unavailable") return yield* connectionError(server, failure)
    return yield* required(server, `the login could not be renewed (${failure.reason})`)
  })

/** The verdict is about the token that was sent. If another one is kept by now, it says nothing. */
const superseded = (context: AuthContext, target: LoginTarget, sent: Credential, failure: OAuthFailure) =>
  Effect.gen(function* () {
    const loginState = context.memoryOf(target)
    const now = yield* reload(context, target)
    if (now?.tokens !== undefined && now.tokens.refreshToken !== sent.tokens?.refreshToken) return
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
      yield* context.store.save(target, Option.some(next))
      loginState.adopt(next)
    }
    return yield* connectionError(target.server, failure, sent.clientInfo)
  })

/** A secret that was configured is not kept, and may have been changed. */
export const withSecretOf = ({ settings }: LoginTarget, client: ClientInfo): ClientInfo => {
  if (client.registered || settings.clientSecret === undefined) return client
  return { ...client, clientSecret: reveal(settings.clientSecret) }
}

/** What is kept now, or what would be if it could be written. */
const reload = (context: AuthContext, target: LoginTarget) =>
  Effect.map(context.store.load(target), (found) => {
    const loginState = context.memoryOf(target)
    loginState.found(Option.getOrUndefined(found))
    return loginState.credential()
  })

/** What a record becomes with what was given. */
const renewed = (before: Credential, granted: Granted): Effect.Effect<Credential & { readonly tokens: Tokens }> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({
    ...before,
    tokens: {
      accessToken: granted.accessToken,
      ...defined({
        refreshToken: granted.refreshToken,
        expiresAt: granted.expiresIn === undefined ? undefined : at + granted.expiresIn * 1000,
        // who says nothing about it gives what was asked for
        scope: granted.scope ?? before.tokens?.scope
      })
    }
  }))

/** Keeps what a login gave, and from then on uses it. */
export const keep = (context: AuthContext, target: LoginTarget, before: Credential, granted: Granted) =>
  Effect.gen(function* () {
    const loginState = context.memoryOf(target)
    const next = yield* renewed(before, granted)
    yield* context.store.save(target, Option.some(next))
    loginState.fresh = next.tokens.accessToken
    loginState.adopt(next)
  })

/** The old tokens are of no more use: if the new ones cannot be written, they are used all the same, and written later. */
const keepRenewed = (context: AuthContext, target: LoginTarget, before: Credential, granted: Granted) =>
  Effect.gen(function* () {
    const loginState = context.memoryOf(target)
    const next = yield* renewed(before, granted)
    const instead = loginState.unsaved === undefined ? before.tokens : loginState.unsaved.instead
    loginState.fresh = next.tokens.accessToken
    loginState.adopt(next)
    // from now on: who looks at the store meanwhile finds the old ones
    const unsaved = { tokens: next.tokens, instead }
    loginState.unsaved = unsaved
    const later = (error: StoreFailed) =>
      Effect.gen(function* () {
        yield* Effect.logWarning("mcp.auth.tokens_not_saved").pipe(
          Effect.annotateLogs({ "mcp.server": target.server, reason: error.detail })
        )
        context.forkIn(context.scope)(saveLater(context, target))
      })
    yield* Effect.matchEffect(context.store.save(target, Option.some(next)), {
      onFailure: later,
      onSuccess: () =>
        Effect.sync(() => {
          if (loginState.unsaved === unsaved) loginState.unsaved = undefined
        })
    })
  })

const saveRest = (context: AuthContext, target: LoginTarget) =>
  UnsavedTokens.save(context.store, target, context.memoryOf(target))

const saveLater = (context: AuthContext, target: LoginTarget): Effect.Effect<void> =>
  saveRest(context, target).pipe(
    context.store.exclusively(target),
    Effect.retry(Schedule.union(Schedule.exponential(shortestPause), Schedule.spaced(longestPause))),
    Effect.ignore,
    Effect.delay(shortestPause)
  )

/** A machine's own credentials: asked for as often as needed, with nothing but what is configured. */
const fetchOwn = (context: AuthContext, target: LoginTarget, before: Credential | undefined, isExplicit: boolean) =>
  Effect.gen(function* () {
    const { server, serverUrl, settings } = target
    const { clientId } = settings
    if (clientId === undefined) {
      const detail = `the grant "client_credentials" needs a client id`
      return yield* new RegistrationRequired({ server, detail })
    }
    const oauth = yield* context.oauth
    const fetch = yield* context.fetchFor(target)
    const inspect = yield* context.inspectFor(target)
    const { wish } = context.memoryOf(target)
    const client = withSecretOf(target, { clientId: reveal(clientId), registered: false })
    const { discovery, granted } = yield* Effect.gen(function* () {
      const discovery = pinned(target, yield* oauth.discover(fetch, { serverUrl, settings, ...wish }))
      const isOther = before?.issuer !== undefined && before.issuer !== discovery.issuer
      // whoever controls the server must not get the secret by naming somebody else
      if (isOther && !isExplicit && settings.tokenUrl === undefined) return yield* oauth.otherIssuer
      yield* oauth.checkLogin(discovery, { settings, registers: false, inspect })
      const scope = OAuthScopes.select({
        configured: settings.scope,
        challenged: wish?.scope,
        supported: discovery.resourceMetadata?.scopes_supported
      })
      return { discovery, granted: yield* oauth.fetchOwn(fetch, settings, client, discovery, scope) }
    }).pipe(
      Effect.interruptible,
      Effect.mapError((failure) => ownError(server, failure))
    )
    const { clientSecret: _, ...clientInfo } = client
    const { issuer } = discovery
    const record: Credential = {
      server,
      serverUrl,
      issuer,
      clientInfo,
      discovery,
      ...defined({ tokens: before?.tokens })
    }
    yield* keepRenewed(context, target, record, granted)
    if (before?.tokens !== undefined) context.onEvent(server, "refreshed")
  })

/** Where the config says where tokens are, the secret goes nowhere else. */
const pinned = ({ settings }: LoginTarget, discovery: Discovery): Discovery =>
  settings.tokenUrl === undefined
    ? discovery
    : { ...discovery, metadata: { ...discovery.metadata, token_endpoint: reveal(settings.tokenUrl) } }

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

/** Milliseconds. */
const shortLife = 10_000

/** Milliseconds. Timers do not reach much further, and clocks are set meanwhile. */
const longestSleep = 6 * 60 * 60_000

/** Brings new tokens before the old ones end, as long as it runs. What cannot be had now is tried again. */
export const keepFresh = (context: AuthContext, target: LoginTarget): Effect.Effect<never> =>
  Effect.gen(function* () {
    const loginState = context.memoryOf(target)
    let failures = 0
    /** Tokens in a row that hardly live: nobody may need them, so they are renewed ever more seldom. */
    let brief = 0
    let given = false
    while (true) {
      const tokens = tokensOf(target, loginState.credential())
      if (tokens?.expiresAt === undefined || !isRenewable(target, tokens) || given) {
        yield* loginState.changed
        given = false
        continue
      }
      const remaining = tokens.expiresAt - (yield* Clock.currentTimeMillis)
      // not all processes at once
      const lead = Math.min(remaining * 0.2, earliest) * (0.5 + (yield* Random.next))
      const floor = Math.min(shortestPause * 2 ** brief, longestPause)
      const pause = Math.min(shortestPause * 2 ** failures, longestPause) * (0.5 + (yield* Random.next))
      const wait = failures === 0 ? Math.max(remaining - lead, floor) : pause
      const due = Effect.as(Effect.sleep(Math.min(wait, longestSleep)), wait <= longestSleep)
      const isChanged = Effect.zipRight(
        loginState.changed,
        Effect.sync(() => ((failures = 0), false))
      )
      if (!(yield* Effect.raceFirst(due, isChanged))) continue
      const outcome = yield* Effect.either(renew(context, target, tokens.accessToken))
      const isTransient =
        outcome._tag === "Left" && outcome.left._tag === "AuthError" && outcome.left.reason === "unavailable"
      brief = remaining < shortLife ? brief + 1 : 0
      failures = isTransient ? failures + 1 : 0
      // a verdict: whoever is refused next will be told
      given = outcome._tag === "Left" && !isTransient
    }
  })
