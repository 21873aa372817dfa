/**
 * What all parts of this room share.
 */
import type { FetchLike } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { withinBudget } from "../connection/budget.js"
import * as HttpClient from "../connection/HttpClient.js"
import { AuthError, AuthRequired, type ConnectionError, RegistrationRequired } from "../domain/Errors.js"
import { defined } from "../domain/defined.js"
import type { ClientInfo, Credential } from "./Credential.js"
import { type Key, type Service as Store, type StoreFailed } from "./CredentialStore/port.js"
import * as Memory from "./Memory.js"
import type { OAuthFailure } from "./OAuthFailure.js"
import * as OAuthFetch from "./oauthFetch.js"
import type { Subject } from "./Subject.js"

/** What is published about a login. */
export type What = "login_started" | "login_finished" | "login_failed" | "refreshed" | "logged_out"

export interface Options {
  readonly store: Store
  /** How we introduce ourselves. */
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Told what happened. Must not throw. */
  readonly onEvent: (server: string, what: What) => void
  /** Told that there are other credentials, or (`revoked`) none any more. Must not throw. */
  readonly onChange: (server: string, revoked: boolean) => void
}

export interface Engine extends Options {
  /** The SDK takes a while to load: most processes never need this part of it. */
  readonly oauth: Effect.Effect<typeof import("./sdkOAuth.js")>
  readonly fetchFor: (subject: Subject) => Effect.Effect<FetchLike, ConnectionError>
  readonly memoryOf: (key: Key) => Memory.Memory
  /** Starts what must come to its end whoever waits for it: a token that was asked for must not get lost. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  /** Told what is kept, each time that may have changed. Must not throw. */
  readonly seen: Set<(key: Key, credential: Credential | undefined) => void>
  /** Takes over what other processes have done, from now on. */
  readonly watch: Effect.Effect<void>
  /** Ends with the engine. */
  readonly scope: Scope.Scope
}

/** How long the end of everything waits for tokens that are on their way. */
const lastBudget = "3 seconds"

export const make = (options: Options): Effect.Effect<Engine, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { store } = options
    const scope = yield* Effect.scope
    const pool = yield* HttpClient.pool
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    yield* Effect.addFinalizer(() => withinBudget(lastBudget)(Effect.suspend(() => Fiber.awaitAll([...running]))))
    const memories = new Map<string, { readonly key: Key; readonly memory: Memory.Memory }>()
    const userAgent = `${options.clientInfo.name}/${options.clientInfo.version}`.replace(/[^\x21-\x7e]/g, "_")
    const seen: Engine["seen"] = new Set()
    let watching = false

    const memoryOf = (key: Key) => {
      const name = JSON.stringify([key.server, key.serverUrl])
      const entry = memories.get(name) ?? { key, memory: Memory.make() }
      memories.set(name, entry)
      return entry.memory
    }

    /** What is kept may be somebody else's doing. */
    const lookAgain = Effect.suspend(() =>
      Effect.forEach(
        Array.from(memories.values()),
        ({ key, memory }) =>
          Effect.map(store.load(key), (found) => {
            const hadToken = memory.credential()?.tokens !== undefined
            const credential = Option.getOrUndefined(found)
            for (const tell of seen) tell(key, credential)
            if (!memory.found(credential)) return
            const revoked = hadToken && credential?.tokens === undefined
            options.onChange(key.server, revoked)
          }).pipe(Effect.ignore),
        { discard: true }
      )
    )

    return {
      ...options,
      oauth: yield* Effect.cached(Effect.promise(() => import("./sdkOAuth.js"))),
      fetchFor: ({ config, server }) =>
        Effect.map(pool.client(server, config.caFile), (client) => OAuthFetch.make(client, userAgent)),
      memoryOf,
      seen,
      fork: (effect) => {
        const fiber = runFork(effect)
        running.add(fiber)
        fiber.addObserver(() => running.delete(fiber))
        return fiber
      },
      watch: Effect.suspend(() => {
        if (watching) return Effect.void
        watching = true
        return Effect.asVoid(
          Effect.forkIn(
            // whoever begins it may be in the middle of something that must not be interrupted
            Effect.interruptible(Stream.runForEach(store.changes, () => lookAgain)),
            scope
          )
        )
      }),
      scope
    }
  })

// --- in the words of everybody else -----------------------------------------------------------------------------------

export const required = (
  server: string,
  reason: string,
  options?: { readonly scope?: string | undefined; readonly login?: boolean | undefined }
): AuthRequired =>
  new AuthRequired({ server, reason, login: options?.login ?? true, ...defined({ scope: options?.scope }) })

/** What a failure means for a server that is to be connected. */
export const connectionError = (
  server: string,
  failure: OAuthFailure,
  client?: Pick<ClientInfo, "registered"> | undefined
): ConnectionError => {
  const { detail, kind, reason } = failure
  switch (kind) {
    case "unavailable":
    case "refused":
      return new AuthError({ server, reason, detail })
    case "grant":
      return required(server, "the login is no longer valid")
    case "client":
      return client?.registered === true
        ? required(server, "the authorization server has forgotten us, and needs a new login")
        : new RegistrationRequired({ server, detail })
    case "registration":
      return new RegistrationRequired({ server, detail })
    case "absent":
      return required(server, detail, { login: false })
  }
}

/** What it means for somebody who logs in. */
export const loginError = (error: ConnectionError): AuthError => {
  const server = error.server ?? ""
  switch (error._tag) {
    case "AuthError":
      return error
    case "RegistrationRequired":
      return new AuthError({ server, reason: "registration_required", detail: `${error.detail}; ${error.hint}` })
    case "AuthRequired":
      return new AuthError({
        server,
        reason: error.login ? "refused" : "no_login",
        detail: `${error.reason}; ${error.hint}`
      })
    default:
      return new AuthError({ server, reason: "unavailable", detail: error.message })
  }
}

export const storeError = (server: string, { detail, isTemporary }: StoreFailed): AuthError =>
  new AuthError({ server, reason: isTemporary ? "unavailable" : "store", detail })
