/**
 * Starts, shares, completes and ends the logins of one supervisor, and deletes them.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { scrubbedLogin } from "../../connection/http/credentialFailure.js"
import type { AuthError, ConnectionError } from "../../domain/Errors.js"
import * as KeyedMutex from "../../system/keyedMutex.js"
import { type AuthContext, scrubFor } from "../AuthContext.js"
import { loginError } from "../authErrors.js"
import type { LoginStatus } from "../McpAuth.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import { type Key, nameOf } from "../tokens/credentialStorePort.js"
import * as Renewal from "../tokens/Renewal.js"
import { beginLogin } from "./beginLogin.js"
import * as CallbackServer from "./CallbackServer.js"
import { completeLogin, unexpectedCallback } from "./completeLogin.js"
import * as LocalLogin from "./LocalLogin.js"
import { closedFailure, loginFailure, unlessClosed } from "./LocalLogin.js"
import * as LoginRecord from "./loginRecord.js"
import * as LoginState from "./LoginState.js"
import { isSameTarget, type LoginTarget, tokensOf } from "./LoginTarget.js"
import { callbackParams, isCompletedElsewhere, isEqualState } from "./pendingLogin.js"

export interface Logins {
  /** Opens the login page and waits for the end of the login. Concurrent callers share one login. */
  readonly login: (target: LoginTarget) => Effect.Effect<void, AuthError>
  /** Starts a login, or joins the pending one, and returns the URL of its page. */
  readonly start: (target: LoginTarget) => Effect.Effect<StartedLogin, AuthError>
  /** Completes a login with its callback, also a login that another process started. */
  readonly finish: (target: LoginTarget, callback: string | URLSearchParams) => Effect.Effect<void, AuthError>
  /** Deletes the stored credential, and ends the pending login. */
  readonly logout: (key: Key) => Effect.Effect<void>
  readonly status: (target: LoginTarget) => Effect.Effect<LoginStatus>
  /** Ends the pending logins of a removed server and forgets its login states. */
  readonly abandon: (server: string) => Effect.Effect<void>
}

export interface StartedLogin {
  readonly authorizationUrl: string
  readonly state: string
}

/** The state of all logins that this process has started. */
interface LoginRegistry {
  readonly context: AuthContext
  readonly callbacks: CallbackServer.CallbackServer
  /** Logins that have not ended, by `nameOf` their target. */
  readonly pending: Map<string, LocalLogin.LocalLogin>
  /** Lets one caller at a time start a login to a server. */
  readonly starting: KeyedMutex.KeyedMutex
  isClosed: boolean
}

export const make = (
  context: AuthContext,
  /** Opens a page in a browser. Absent if there is no browser. */
  openUrl: ((url: string) => Effect.Effect<void>) | undefined
): Effect.Effect<Logins, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry: LoginRegistry = {
      context,
      callbacks: yield* CallbackServer.make,
      pending: new Map(),
      starting: KeyedMutex.make(),
      isClosed: false
    }
    yield* Effect.addFinalizer(() => close(registry))
    context.storeListeners.add((key, record) => {
      const login = registry.pending.get(nameOf(key))
      if (login === undefined || login.isCompleting || !isCompletedElsewhere(login, record)) return
      context.fork(LocalLogin.end(login, Exit.void))
    })

    /** Removes secrets from errors: their texts may come from servers, authorization servers and configs. */
    const scrubbing = <A>(target: LoginTarget, effect: Effect.Effect<A, AuthError>): Effect.Effect<A, AuthError> =>
      Effect.suspend(() => Effect.mapError(effect, scrubbedLogin(scrubFor(context, target))))

    return {
      login: (target) => scrubbing(target, login(registry, target, openUrl)),
      start: (target) => scrubbing(target, start(registry, target)),
      finish: (target, callback) => scrubbing(target, finish(registry, target, callback)),
      logout: (key) => logout(registry, key),
      status: (target) => status(context, target),
      abandon: (server) =>
        Effect.forEach(
          Array.from(registry.pending.values()).filter(({ target }) => target.server === server),
          (login) =>
            LocalLogin.end(login, loginFailure(login.target, "removed", "the server was removed in the meantime")),
          { discard: true }
        ).pipe(Effect.zipRight(Effect.sync(() => context.forget(server))))
    }
  })

/** Fails the callers of pending logins. A callback that has arrived is still handled. */
const close = (registry: LoginRegistry) =>
  Effect.suspend(() => {
    registry.isClosed = true
    return Effect.forEach(
      Array.from(registry.pending.values()).filter((login) => !login.isCompleting),
      ({ done, target }) => Deferred.done(done, closedFailure(target)),
      { discard: true }
    )
  })

const login = Effect.fnUntraced(function* (
  registry: LoginRegistry,
  target: LoginTarget,
  openUrl: ((url: string) => Effect.Effect<void>) | undefined
) {
  const { context } = registry
  if (!target.grant.usesLoginPage) {
    const oldToken = context.loginState(target).credential()?.tokens?.accessToken
    yield* Effect.mapError(Renewal.renew(context, target, oldToken, true), loginError)
    return context.onChange(target.server, false)
  }
  if (openUrl === undefined) return yield* loginFailure(target, "no_browser", noBrowser)
  let joined: LocalLogin.LocalLogin | undefined
  yield* join(registry, target, (login) => {
    login.callers += 1
    joined = login
  }).pipe(
    Effect.flatMap((login) =>
      Effect.raceFirst(Deferred.await(login.done), Deferred.await(LocalLogin.openPage(login, openUrl)))
    ),
    Effect.onInterrupt(() => (joined === undefined ? Effect.void : LocalLogin.leave(joined))),
    Effect.tapError(() => Effect.sync(() => joined !== undefined && (joined.callers -= 1)))
  )
})

const start = (registry: LoginRegistry, target: LoginTarget): Effect.Effect<StartedLogin, AuthError> =>
  Effect.map(
    join(registry, target, (login) => {
      login.isHandedOut = true
    }),
    ({ authorizationUrl, pending }) => ({ authorizationUrl, state: pending.oauthState })
  )

/**
 * Joins the pending login to a server, or starts one if there is none or if it does not fit. `onJoin` runs before the
 * next caller: a login without callers may end.
 */
const join = (
  registry: LoginRegistry,
  target: LoginTarget,
  onJoin: (login: LocalLogin.LocalLogin) => void
): Effect.Effect<LocalLogin.LocalLogin, AuthError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      if (registry.isClosed) return yield* closedFailure(target)
      const current = registry.pending.get(nameOf(target))
      const login = current !== undefined && isJoinable(registry, current, target) ? current : undefined
      if (login === undefined && current !== undefined) {
        yield* LocalLogin.end(current, loginFailure(target, "replaced", "another login was started"))
      }
      const joined = login ?? (yield* begin(registry, target, restore))
      onJoin(joined)
      return joined
    })
  ).pipe(registry.starting.withLock(nameOf(target)))

const isJoinable = ({ context }: LoginRegistry, current: LocalLogin.LocalLogin, target: LoginTarget): boolean =>
  isSameTarget(current.target, target) &&
  OAuthScopes.covers(current.pending.scope, context.loginState(target).missingScope)

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const begin = Effect.fnUntraced(function* (registry: LoginRegistry, target: LoginTarget, restore: Restore) {
  const { callbacks, context, pending } = registry
  const { server } = target
  const loginState = context.loginState(target)
  loginState.blocked = undefined
  const scope = yield* Scope.fork(context.scope, ExecutionStrategy.sequential)
  const { listener, ...begun } = yield* restore(Scope.extend(beginLogin(context, callbacks, target), scope)).pipe(
    Effect.onError(() => Scope.close(scope, Exit.void)),
    Effect.tapError((error) => Effect.sync(() => reportFailure(context, target, loginState, error))),
    Effect.mapError(loginError)
  )
  if (registry.isClosed) {
    yield* Scope.close(scope, Exit.void)
    context.onEvent(server, "login_failed")
    return yield* closedFailure(target)
  }
  const name = nameOf(target)
  const onEnd = () => void (pending.get(name) === login && pending.delete(name))
  const login: LocalLogin.LocalLogin = LocalLogin.make({ context, target, scope, onEnd, ...begun })
  pending.set(name, login)
  // Another process may complete the login.
  yield* context.watch
  yield* LocalLogin.receive(login, listener)
  context.onEvent(server, "login_started")
  return login
})

/** Changes the status of the server if no login can succeed with its settings. */
const reportFailure = (
  context: AuthContext,
  { server, settings }: LoginTarget,
  loginState: LoginState.LoginState,
  error: ConnectionError
) => {
  context.onEvent(server, "login_failed")
  if (error._tag !== "RegistrationRequired" && error._tag !== "AuthRequired") return
  loginState.blocked = { settings, error }
  context.onChange(server, false)
}

const finish = Effect.fnUntraced(function* (
  { context, pending }: LoginRegistry,
  target: LoginTarget,
  callback: string | URLSearchParams
) {
  const params = callbackParams(callback)
  const state = params.get("state")
  if (state === null) return yield* loginFailure(target, "invalid_callback", notACallback)
  const local = pending.get(nameOf(target))
  if (local !== undefined && isEqualState(local.pending.oauthState, state)) {
    return yield* LocalLogin.complete(local, params)
  }
  const stored = (yield* Effect.mapError(LoginRecord.load(context, target), loginError))?.login
  if (stored === undefined || !isEqualState(stored.oauthState, state)) {
    return yield* loginFailure(target, "state_mismatch", unexpectedCallback)
  }
  const exit = yield* Fiber.await(context.fork(completeLogin(context, { target, pending: stored, params })))
  return yield* unlessClosed(target, exit)
})

const logout = ({ context, pending }: LoginRegistry, key: Key): Effect.Effect<void> =>
  Effect.gen(function* () {
    const local = pending.get(nameOf(key))
    if (local !== undefined)
      yield* LocalLogin.end(local, loginFailure(key, "logged_out", "the login was deleted in the meantime"))
    const loginState = context.loginState(key)
    yield* Effect.gen(function* () {
      yield* context.store.save(key, Option.none())
      // Under the lock: a renewal in progress would restore the tokens.
      loginState.adopt(undefined)
      loginState.stepUps = LoginState.noStepUps
    }).pipe(context.store.exclusively(key))
    context.onEvent(key.server, "logged_out")
    context.onChange(key.server, true)
    // A login that cannot be deleted must not look deleted.
  }).pipe(Effect.orDie)

const status = (context: AuthContext, target: LoginTarget): Effect.Effect<LoginStatus> =>
  Effect.gen(function* () {
    const tokens = tokensOf(target, Option.getOrUndefined(yield* context.store.load(target)))
    if (tokens === undefined) return "not_authenticated"
    const isPast = (tokens.expiresAt ?? Infinity) <= (yield* Clock.currentTimeMillis)
    const isExpired = tokens.refused === true || (isPast && !target.grant.isRenewable(tokens))
    return isExpired ? "expired" : "authenticated"
  }).pipe(Effect.orElseSucceed((): LoginStatus => "not_authenticated"))

const noBrowser =
  "no browser is available; call `startLogin` and show its URL to the user, or provide the option `openUrl`"

const notACallback =
  "this is not the callback of a login: paste the complete address that the browser ended at, with all of its parameters"
