/**
 * Logins, from the page that is opened to the tokens that are kept. What there was before stays until then.
 */
import { randomBytes } from "node:crypto"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { AuthError, type ConnectionError } from "../domain/Errors.js"
import { defined } from "../domain/defined.js"
import { reveal } from "../domain/Secrets.js"
import * as CallbackServer from "./CallbackServer.js"
import * as Clients from "./clients.js"
import type { ClientInfo, Credential, Pending } from "./Credential.js"
import type { Key, StoreFailed } from "./CredentialStore/port.js"
import { connectionError, type Engine, loginError, required, storeError } from "./Engine.js"
import * as Memory from "./Memory.js"
import type { OAuthFailure } from "./OAuthFailure.js"
import { doubting, isDoneElsewhere, isOf, isSame, paramsOf, placeIn, withoutConfigured } from "./pendingLogin.js"
import * as Renewal from "./Renewal.js"
import * as Scopes from "./scopes.js"
import type { Subject } from "./Subject.js"

export interface Logins {
  /** Opens the page and waits until somebody has come back from it. Who is second waits for the same. */
  readonly login: (subject: Subject) => Effect.Effect<void, AuthError>
  /** Begins, and leaves the rest to others. */
  readonly start: (subject: Subject) => Effect.Effect<Started, AuthError>
  /** Goes on with what the browser was given, however it came here. */
  readonly finish: (subject: Subject, callback: string | URLSearchParams) => Effect.Effect<void, AuthError>
  readonly logout: (key: Key) => Effect.Effect<void>
  /** Ends all that waits for a server. */
  readonly abandon: (server: string) => Effect.Effect<void>
}

export interface Started {
  readonly authorizationUrl: string
  readonly state: string
}

/** How long somebody may take to log in while we listen. */
const limit = "5 minutes"

/** A login that was begun here. */
interface Waiting extends Started {
  readonly subject: Subject
  readonly pending: Pending
  readonly done: Deferred.Deferred<void, AuthError>
  /** Lets go of the listener. */
  readonly scope: Scope.CloseableScope
  /** Somebody has come back, and what he brought is being exchanged. */
  isTaken: boolean
  /** It is over, however it ended: what is still brought is not kept. */
  isEnded: boolean
  /** The page was opened. */
  isShown: boolean
  /** Somebody was given its address, and may come back at any time. */
  isHandedOut: boolean
  /** How many wait for it. */
  users: number
  /** The token there was when it began. */
  readonly before: string | undefined
}

export const make = (
  engine: Engine,
  /** Shows a page, if somebody is there to see it. */
  openUrl: ((url: string) => Effect.Effect<void>) | undefined
): Effect.Effect<Logins, never, Scope.Scope> =>
  Effect.gen(function* () {
    const callbacks = yield* CallbackServer.make
    const waiting = new Map<string, Waiting>()
    const turns = new Map<string, Effect.Semaphore>()
    const nameOf = ({ server, serverUrl }: Key) => JSON.stringify([server, serverUrl])

    yield* Effect.addFinalizer(() =>
      Effect.forEach(
        Array.from(waiting.values()).filter((login) => !login.isTaken),
        ({ done, subject }) => Deferred.done(done, failed(subject, "closed", "the supervisor was closed meanwhile")),
        { discard: true }
      )
    )
    engine.seen.add((key, record) => {
      const login = waiting.get(nameOf(key))
      if (login !== undefined && !login.isTaken && isDoneElsewhere(login, record)) engine.fork(end(login, Exit.void))
    })

    // --- beginning --------------------------------------------------------------------------------------------------

    /** One at a time for each server: two would only be in each other's way. */
    const begin = (subject: Subject): Effect.Effect<Waiting, AuthError> =>
      Effect.suspend(() => {
        const name = nameOf(subject)
        const turn = turns.get(name) ?? Effect.unsafeMakeSemaphore(1)
        turns.set(name, turn)
        return turn.withPermits(1)(
          Effect.suspend(() => {
            const there = waiting.get(name)
            const { wanted } = engine.memoryOf(subject)
            const isSame = there?.subject.config === subject.config && Scopes.covers(there.pending.scope, wanted)
            if (there !== undefined && isSame) return Effect.succeed(there)
            const before =
              there === undefined ? Effect.void : end(there, failed(subject, "replaced", "another login was begun"))
            return Effect.zipRight(before, beginNew(subject))
          })
        )
      })

    const beginNew = (subject: Subject): Effect.Effect<Waiting, AuthError> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const { server } = subject
          engine.memoryOf(subject).verdict = undefined
          const scope = yield* Scope.fork(engine.scope, ExecutionStrategy.sequential)
          const begun = yield* restore(Scope.extend(negotiate(subject), scope)).pipe(
            Effect.onError(() => Scope.close(scope, Exit.void)),
            Effect.tapError((error) => Effect.sync(() => cannotBegin(subject, error))),
            Effect.mapError(loginError)
          )
          const { authorizationUrl, before, listener, pending } = begun
          const state = pending.oauthState
          const done = yield* Deferred.make<void, AuthError>()
          const fresh = { isTaken: false, isEnded: false, isShown: false, isHandedOut: false, users: 0 }
          const login: Waiting = { subject, authorizationUrl, state, pending, done, scope, before, ...fresh }
          waiting.set(nameOf(subject), login)
          // somebody may finish it in another process
          yield* engine.watch
          if (listener !== undefined) yield* Scope.extend(listener.expect(state, visit(login)), scope)
          yield* Effect.forkIn(Effect.zipRight(Effect.interruptible(Effect.sleep(limit)), giveUp(login)), scope)
          engine.onEvent(server, "login_started")
          return login
        })
      )

    /** Whoever waits for a login learns if it cannot be had like this. */
    const cannotBegin = (subject: Subject, error: ConnectionError) => {
      engine.onEvent(subject.server, "login_failed")
      if (error._tag !== "RegistrationRequired" && error._tag !== "AuthRequired") return
      engine.memoryOf(subject).verdict = { of: subject.settings, error }
      engine.onChange(subject.server, false)
    }

    /** Finds the authorization server, becomes somebody to it, and gets a place to come back to. */
    const negotiate = (subject: Subject) =>
      Effect.gen(function* () {
        const { server, serverUrl, settings } = subject
        const memory = engine.memoryOf(subject)
        const oauth = yield* engine.oauth
        const fetch = yield* engine.fetchFor(subject)
        const failing = Effect.mapError((failure: OAuthFailure) => connectionError(server, failure))
        const wish = memory.wish ?? (yield* oauth.ask(fetch, serverUrl))
        const discovery = yield* failing(oauth.discover(fetch, { serverUrl, settings, ...wish }))
        const found = Option.getOrUndefined(yield* loaded(subject))
        const granted = memory.wanted === undefined ? undefined : found?.tokens?.scope
        const scope = Scopes.select({
          configured: settings.scope,
          challenged: memory.wanted ?? wish.scope,
          granted,
          supported: discovery.resourceMetadata?.scopes_supported,
          known: discovery.metadata?.scopes_supported
        })
        if (settings.clientId === undefined && settings.clientMetadataUrl !== undefined) {
          yield* failing(oauth.checkMetadataUrl(reveal(settings.clientMetadataUrl)))
        }
        const given = Clients.given(subject, oauth, discovery)
        if (given === undefined && !oauth.takesRegistrations(discovery)) {
          return yield* Effect.fail<ConnectionError>(Clients.registrationRequired(subject, discovery))
        }
        const known = given === undefined ? Clients.known(found, discovery, yield* Clock.currentTimeMillis) : undefined
        const { listener, redirectUri } = yield* placeFor(subject, known, given === undefined)
        const isUsable = known !== undefined && known.redirectUri === redirectUri
        const register = oauth.register(fetch, discovery, { clientName: engine.clientInfo.name, redirectUri, scope })
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
        yield* stage(subject, pending)
        return { authorizationUrl, before: found?.tokens?.accessToken, listener, pending }
      })

    const loaded = (subject: Subject) =>
      Effect.mapError(engine.store.load(subject), (error): ConnectionError => storeError(subject.server, error))

    /** Beside what there is. */
    const stage = (subject: Subject, login: Pending) => change(subject, (before) => ({ ...before, login }))

    const change = (subject: Subject, to: (before: Credential) => Credential) =>
      edit(subject, to).pipe(
        engine.store.exclusively(subject),
        Effect.mapError((error): ConnectionError => storeError(subject.server, error))
      )

    /** Only under the lock. */
    const edit = (subject: Subject, to: (before: Credential) => Credential) =>
      Effect.gen(function* () {
        const { server, serverUrl } = subject
        const before = Option.getOrElse(yield* engine.store.load(subject), (): Credential => ({ server, serverUrl }))
        const next = to(before)
        if (next === before) return
        // a record that says nothing is none
        const isEmpty = next.tokens === undefined && next.clientInfo === undefined && next.login === undefined
        yield* engine.store.save(subject, isEmpty ? Option.none() : Option.some(next))
      })

    /** Where people come back to: the address that is registered, if it is free; another one only if we may register it. */
    const placeFor = (subject: Subject, known: ClientInfo | undefined, mayRegister: boolean) =>
      Effect.gen(function* () {
        const { server, settings } = subject
        const preferred = settings.redirectUri === undefined ? known?.redirectUri : undefined
        const redirectUri = preferred ?? Clients.redirectUriOf(subject)
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

    // --- coming back ------------------------------------------------------------------------------------------------

    const visit =
      (login: Waiting): CallbackServer.Visit =>
      (params) =>
        new Promise((resolve) => {
          const { server } = login.subject
          const outcome = engine.fork(take(login, params))
          outcome.addObserver((exit) => {
            if (Exit.isSuccess(exit)) return resolve({ title: "Logged in", text: goOn(server), isGood: true })
            const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
            resolve({ title: "Not logged in", text: error?.message ?? "Something went wrong.", isGood: false })
          })
        })

    /** The first who brings an answer decides; whoever comes later hears the same. */
    const take = (login: Waiting, params: URLSearchParams): Effect.Effect<void, AuthError> =>
      Effect.suspend(() => {
        if (login.isTaken) return Deferred.await(login.done)
        login.isTaken = true
        return Effect.onExit(complete(login.subject, login.pending, params, login), (exit) => end(login, exit))
      })

    const end = (login: Waiting, exit: Exit.Exit<void, AuthError>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const name = nameOf(login.subject)
        if (waiting.get(name) === login) waiting.delete(name)
        login.isEnded = true
        // not by whoever is in it: the page is still to be shown
        return Effect.map(Deferred.done(login.done, exit), () => void engine.fork(Scope.close(login.scope, Exit.void)))
      })

    /** Nobody came. A client that was not registered just now may be one that nobody knows any more. */
    const giveUp = (login: Waiting) =>
      Effect.suspend(() => {
        if (login.isTaken) return Effect.void
        const { pending, subject } = login
        const doubt = change(subject, (before) => doubting(before, pending))
        engine.onEvent(subject.server, "login_failed")
        const late = failed(subject, "timeout", "nobody came back from the login page within 5 minutes; log in again")
        return Effect.zipRight(Effect.ignore(doubt), end(login, late))
      })

    /** Exchanges what was brought for tokens. */
    const exchange = (subject: Subject, pending: Pending, params: URLSearchParams) =>
      Effect.gen(function* () {
        const oauth = yield* engine.oauth
        const fetch = yield* engine.fetchFor(subject)
        const iss = params.get("iss") ?? undefined
        // before anything else that it says: it may be from somebody else
        yield* oauth.checkIssuer(pending, iss)
        const error = params.get("error")
        const code = params.get("code") ?? ""
        if (error !== null) return yield* oauth.ofCode(error)
        if (code === "")
          return yield* required(subject.server, "the authorization server gave neither a code nor a reason")
        const clientInfo = Renewal.withSecretOf(subject, pending.clientInfo)
        return yield* oauth.exchange(fetch, subject.settings, { ...pending, clientInfo }, { code, iss })
      })

    /** From the first look until the tokens are kept, nobody else does the same: what was brought is good for once. */
    const complete = (
      subject: Subject,
      pending: Pending,
      params: URLSearchParams,
      here?: Waiting | undefined
    ): Effect.Effect<void, AuthError> =>
      Effect.gen(function* () {
        const { server, serverUrl } = subject
        const memory = engine.memoryOf(subject)
        const record = Option.getOrUndefined(yield* engine.store.load(subject))
        if (here === undefined && !isOf(record, pending)) return yield* failed(subject, "state_mismatch", notWaitedFor)
        if (here !== undefined && isDoneElsewhere(here, record)) {
          return void (memory.found(record) && engine.onChange(server, false))
        }
        const { clientInfo, discovery, issuer, scope } = pending
        const others = isOf(record, pending) ? undefined : record?.login
        const next: Credential = { server, serverUrl, issuer, clientInfo, discovery, ...defined({ login: others }) }
        yield* Effect.gen(function* () {
          const granted = yield* exchange(subject, pending, params)
          if (here?.isEnded === true) return yield* failed(subject, "interrupted", "the login was ended meanwhile")
          yield* Renewal.keep(engine, subject, next, { ...granted, scope: granted.scope ?? scope })
        }).pipe(Effect.tapError((failure) => Effect.ignore(clear(subject, pending, failure))))
        const { stepUps, wanted } = memory
        const count = Scopes.covers(stepUps.asked, wanted) ? stepUps.count + 1 : 1
        memory.stepUps = wanted === undefined ? Memory.noStepUps : { asked: Scopes.union(stepUps.asked, wanted), count }
        memory.wanted = undefined
        engine.onEvent(server, "login_finished")
        engine.onChange(server, false)
      }).pipe(
        engine.store.exclusively(subject),
        Effect.mapError((failure) => errorOf(subject, pending, failure)),
        Effect.uninterruptible
      )

    /** After a failure: what may still work can be tried again with the same answer, all else is forgotten. */
    const clear = (subject: Subject, pending: Pending, failure: Failure) =>
      Effect.suspend(() => {
        engine.onEvent(subject.server, "login_failed")
        if (errorOf(subject, pending, failure).reason === "unavailable") return Effect.void
        const isUnknown = failure._tag === "OAuthFailure" && failure.kind === "client"
        return edit(subject, (before) => {
          // another process may have begun another one
          const { login: _, ...rest } = before
          const left = isOf(before, pending) ? rest : before
          return isUnknown ? doubting(left, pending) : left
        })
      })

    const show = (login: Waiting, open: (url: string) => Effect.Effect<void>) =>
      Effect.catchAllCause(
        Effect.suspend(() => open(login.authorizationUrl)),
        (cause) => {
          // who has the address already does not need this page
          const isUseless = login.isTaken || login.isHandedOut || Cause.isInterruptedOnly(cause)
          return isUseless ? Effect.void : end(login, failed(login.subject, "no_browser", notShown))
        }
      )

    /** Somebody waits no more. The last one ends it. */
    const leave = (login: Waiting) =>
      Effect.suspend(() => {
        login.users -= 1
        if (login.users > 0 || login.isHandedOut) return Effect.void
        return end(login, failed(login.subject, "interrupted", "the login was given up"))
      })

    const finish: Logins["finish"] = (subject, callback) =>
      Effect.gen(function* () {
        const params = paramsOf(callback)
        const state = params.get("state")
        if (state === null) return yield* failed(subject, "invalid_callback", notACallback)
        const here = waiting.get(nameOf(subject))
        if (here !== undefined && isSame(here.state, state)) return yield* take(here, params)
        const kept = Option.getOrUndefined(yield* Effect.mapError(loaded(subject), loginError))?.login
        if (kept !== undefined && isSame(kept.oauthState, state)) return yield* complete(subject, kept, params)
        return yield* failed(subject, "state_mismatch", notWaitedFor)
      })

    return {
      start: (subject) =>
        Effect.map(begin(subject), (login) => {
          login.isHandedOut = true
          return { authorizationUrl: login.authorizationUrl, state: login.state }
        }),
      finish,
      login: (subject) =>
        Effect.gen(function* () {
          if (subject.settings.grant === "client_credentials") {
            const useless = engine.memoryOf(subject).credential()?.tokens?.accessToken
            yield* Effect.mapError(Renewal.renew(engine, subject, useless, true), loginError)
            return engine.onChange(subject.server, false)
          }
          if (openUrl === undefined) return yield* failed(subject, "no_browser", nobodyLooks)
          const login = yield* begin(subject)
          login.users += 1
          if (!login.isShown) yield* Effect.forkIn(show(login, openUrl), engine.scope)
          login.isShown = true
          yield* Effect.onInterrupt(Deferred.await(login.done), () => leave(login))
        }),
      abandon: (server) =>
        Effect.forEach(
          Array.from(waiting.values()).filter(({ subject }) => subject.server === server),
          (login) => end(login, failed(login.subject, "removed", "the server was removed meanwhile")),
          { discard: true }
        ),
      logout: (subject) =>
        Effect.gen(function* () {
          const here = waiting.get(nameOf(subject))
          if (here !== undefined) yield* end(here, failed(subject, "logged_out", "somebody logged out meanwhile"))
          const memory = engine.memoryOf(subject)
          memory.adopt(undefined)
          memory.stepUps = Memory.noStepUps
          yield* engine.store.exclusively(subject)(engine.store.save(subject, Option.none()))
          engine.onEvent(subject.server, "logged_out")
          engine.onChange(subject.server, true)
          // a login that cannot be forgotten must not look as if it were
        }).pipe(Effect.orDie)
    }
  })

type Failure = OAuthFailure | StoreFailed | ConnectionError

const errorOf = ({ server }: Subject, { clientInfo }: Pending, failure: Failure): AuthError => {
  if (failure._tag === "OAuthFailure") return loginError(connectionError(server, failure, clientInfo))
  return failure._tag === "StoreFailed" ? storeError(server, failure) : loginError(failure)
}

const failed = ({ server }: Pick<Key, "server">, reason: string, detail: string): Exit.Exit<never, AuthError> =>
  Exit.fail(new AuthError({ server, reason, detail }))

const goOn = (server: string): string => `${server} can be used now. You may close this page.`

const nobodyLooks =
  "there is no browser here; begin with `startLogin` and bring its address to a person, or say with `openUrl` how pages are opened"

const notShown = "the page could not be opened; begin with `startLogin` and bring its address to a person"

const notWaitedFor = "this is not the answer to the login that is waited for, or it was brought already"

const notACallback =
  "that is no answer to a login: paste the whole address that the browser ended at, with everything behind the question mark"
