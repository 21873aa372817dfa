/**
 * Holds the services and the state that all logins of one supervisor share.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { withinBudget } from "../system/budget.js"
import * as HttpClient from "../connection/http/HttpClient.js"
import type { ConnectionError } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import * as ServerConfig from "../domain/server/ServerConfig.js"
import type { Credential } from "./tokens/Credential.js"
import { type Key, loadAll, type Service as Store } from "./tokens/credentialStorePort.js"
import type { Inspect } from "./oauth/endpoints.js"
import * as LoginStates from "./login/LoginStates.js"
import type * as LoginState from "./login/LoginState.js"
import * as OAuthFetch from "./oauth/oauthFetch.js"
import { policyOf, type LoginTarget } from "./login/LoginTarget.js"
import * as TokenWriter from "./tokens/tokenWriter.js"

/** The kinds of published login events. */
export type AuthEventKind = "login_started" | "login_finished" | "login_failed" | "refreshed" | "logged_out"

export interface Options {
  readonly store: Store
  /** The client name and version. */
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Called for each login event. Must not throw. */
  readonly onEvent: (server: string, what: AuthEventKind) => void
  /** Called when the credentials changed or (`revoked`) were removed. Must not throw. */
  readonly onChange: (server: string, revoked: boolean) => void
}

export interface AuthContext extends Options {
  /** Loaded on demand: the SDK loads slowly, and most processes do not need its OAuth part. */
  readonly oauth: Effect.Effect<typeof import("./oauth/sdkOAuth.js")>
  readonly fetchFor: (target: LoginTarget) => Effect.Effect<FetchLike, ConnectionError>
  /** Checks addresses that this process does not request itself, such as a page for the browser. */
  readonly inspectFor: (target: LoginTarget) => Effect.Effect<Inspect, ConnectionError>
  /** Returns the login state of a server. */
  readonly loginState: (key: Key) => LoginState.LoginState
  /** Returns the login state of a server and keeps it while the scope is open. */
  readonly useLoginState: (key: Key) => Effect.Effect<LoginState.LoginState, never, Scope.Scope>
  /** Drops the login state of a server. */
  readonly forget: (server: string) => void
  /** Forks an effect that continues if its caller is interrupted: a requested token must not get lost. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  /**
   * Forks an effect that runs while the scope is open, without the caller's span and log annotations. If the scope is
   * closed, nothing is started.
   */
  readonly forkIn: (scope: Scope.Scope) => <A, E>(effect: Effect.Effect<A, E>) => void
  /** Called with the stored credential each time it may have changed. Must not throw. */
  readonly storeListeners: Set<(key: Key, credential: Credential | undefined) => void>
  /** Adopts changes that other processes make to the store, from now on. */
  readonly watch: Effect.Effect<void>
  /** The scope of the context. */
  readonly scope: Scope.Scope
}

/** Shutdown waits this long for running token requests, and then this long for their interruption. */
const requestBudget = "3 seconds"
const interruptBudget = "1 second"

/** Shutdown tries this long to store tokens that could not be stored before. */
const saveBudget = "1 second"

export const make = (options: Options): Effect.Effect<AuthContext, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { store } = options
    const scope = yield* Effect.scope
    const pool = yield* HttpClient.pool
    const runtime = (yield* Effect.runtime<never>()).pipe(
      Runtime.updateContext(
        (context) => Context.omit(Tracer.ParentSpan, Scope.Scope)(context) as Context.Context<never>
      ),
      // The layer may be built in an uninterruptible region; fibers started here stay interruptible.
      Runtime.enableRuntimeFlag(RuntimeFlags.Interruption)
    )
    const runFork = Runtime.runFork(runtime)
    // The `scope` option of `runFork` is not used: in a closed scope, its fiber would never end.
    const forkIn: AuthContext["forkIn"] = (scope) => (effect) => void runFork(Effect.forkIn(effect, scope))
    const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    const loginStates = LoginStates.make()
    const saveAll = Effect.suspend(() =>
      Effect.forEach(
        loginStates.all().filter(({ loginState }) => loginState.unsaved !== undefined),
        ({ key, loginState }) => Effect.ignore(store.exclusively(key)(TokenWriter.saveUnsaved(store, key, loginState))),
        { concurrency: "unbounded", discard: true }
      )
    )
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* withinBudget(requestBudget)(Effect.suspend(() => Fiber.awaitAll([...running])))
        yield* withinBudget(interruptBudget)(Effect.suspend(() => Fiber.interruptAll([...running])))
        // The fibers that would retry have ended.
        yield* withinBudget(saveBudget)(saveAll)
      })
    )
    const userAgent = `${options.clientInfo.name}/${options.clientInfo.version}`.replace(/[^\x21-\x7e]/g, "_")
    const guarded = (target: LoginTarget) => pool.guarded(target.server, target.config.caFile, policyOf(target))
    const storeListeners: AuthContext["storeListeners"] = new Set()
    let watching = false

    /** Reads the store again: another process may have changed it. */
    const reload: Effect.Effect<void> = Effect.gen(function* () {
      const entries = loginStates.all().map((entry) => ({ ...entry, before: tokenOf(entry.loginState) }))
      const keys = entries.map(({ key }) => key)
      const credentials = yield* loadAll(store, keys)
      let isOutdated = false
      for (const [index, { before, key, loginState }] of entries.entries()) {
        const credential = credentials[index]
        // The store could not be read.
        if (credential === "unknown") continue
        // The loaded credential may be older than the current one.
        if (tokenOf(loginState) !== before) {
          isOutdated = true
          continue
        }
        for (const listener of storeListeners) listener(key, credential)
        if (!loginState.adoptStored(credential)) continue
        const revoked = before !== undefined && credential?.tokens === undefined
        options.onChange(key.server, revoked)
      }
      if (isOutdated) yield* reload
    })

    return {
      ...options,
      oauth: yield* Effect.cached(Effect.promise(() => import("./oauth/sdkOAuth.js"))),
      fetchFor: (target) => Effect.map(guarded(target), (client) => OAuthFetch.make(client, userAgent)),
      inspectFor: (target) => Effect.map(guarded(target), ({ inspect }) => inspect),
      loginState: loginStates.get,
      useLoginState: loginStates.use,
      forget: loginStates.forget,
      storeListeners,
      fork: (effect) => {
        const fiber = runFork(effect)
        running.add(fiber)
        fiber.addObserver(() => running.delete(fiber))
        return fiber
      },
      forkIn,
      watch: Effect.sync(() => {
        if (watching) return
        watching = true
        forkIn(scope)(Stream.runForEach(store.changes, () => reload))
      }),
      scope
    }
  })

const tokenOf = (loginState: LoginState.LoginState): string | undefined => loginState.credential()?.tokens?.accessToken

/**
 * Removes the secrets of a server and of its login from a text. Call it before an attempt: the server may be removed in
 * the meantime, and asking for its login state afterwards would create it again.
 */
export const scrubFor = (context: AuthContext, target: LoginTarget): ((text: string) => string) => {
  const loginState = context.loginState(target)
  return (text) => Secrets.scrub(Secrets.union(ServerConfig.secrets(target.config), loginState.secrets()))(text)
}
