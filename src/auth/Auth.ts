/**
 * The entry point of auth: credentials, logins and logouts of all servers of one supervisor.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Credentials } from "../connection/Credentials.js"
import { scrubbedLogin } from "../connection/http/credentialFailure.js"
import { AuthError } from "../domain/Errors.js"
import { allowsLogin, type Remote, type ServerConfig } from "../domain/server/ServerConfig.js"
import { version } from "../domain/internal/version.js"
import { Browser, none } from "./Browser.js"
import { CredentialStore, makeMemory, unset } from "./tokens/credentialStorePort.js"
import * as AuthContext from "./AuthContext.js"
import { scrubFor } from "./AuthContext.js"
import * as ProvidedHeaders from "./providedHeaders.js"
import * as Logins from "./login/Logins.js"
import type { LoginStatus } from "./McpAuth.js"
import * as OAuthCredentials from "./OAuthCredentials.js"
import { isRenewable, keyOf, type LoginTarget, loginTargetOf, tokensOf } from "./login/LoginTarget.js"

export { type ProvidedHeaders, make as givenHeaders } from "./providedHeaders.js"

export interface Auth {
  /** The credentials of a connection, valid while the scope is open. `undefined` if the config needs none. */
  readonly credentialsFor: (
    server: string,
    config: Remote,
    given?: ProvidedHeaders.ProvidedHeaders | undefined
  ) => Effect.Effect<Credentials | undefined, never, Scope.Scope>
  readonly login: (server: string, config: ServerConfig | undefined) => Effect.Effect<void, AuthError>
  readonly startLogin: (server: string, config: ServerConfig | undefined) => Effect.Effect<Logins.Started, AuthError>
  readonly finishLogin: (
    server: string,
    config: ServerConfig | undefined,
    callback: string | URLSearchParams
  ) => Effect.Effect<void, AuthError>
  readonly logout: (server: string, config: ServerConfig | undefined) => Effect.Effect<void>
  /** Ends the logins of a removed server. */
  readonly abandon: (server: string) => Effect.Effect<void>
  readonly status: (server: string, config: ServerConfig | undefined) => Effect.Effect<LoginStatus>
}

export interface Options extends Pick<AuthContext.Options, "onEvent" | "onChange"> {
  /** The client name and version. Defaults to `mcp-supervisor` and its version. */
  readonly clientInfo?: AuthContext.Options["clientInfo"] | undefined
  /** Shows a page. Defaults to the `Browser` service. */
  readonly openUrl?: ((url: string) => Effect.Effect<void>) | undefined
}

export const make = (options: Options): Effect.Effect<Auth, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { onChange, onEvent } = options
    const provided = yield* CredentialStore
    const store = provided === unset ? makeMemory() : provided
    const clientInfo = options.clientInfo ?? { name: "mcp-supervisor", version }
    const context = yield* AuthContext.make({ store, clientInfo, onEvent, onChange })
    const browser = yield* Browser
    const openUrl = options.openUrl ?? (browser === none ? undefined : browser.open)
    const logins = yield* Logins.make(context, openUrl)

    const target = (server: string, config: ServerConfig | undefined): Effect.Effect<LoginTarget, AuthError> => {
      const found = config?._tag === "Remote" ? loginTargetOf(server, config) : undefined
      return found === undefined ? Effect.fail(noLogin(server, config)) : Effect.succeed(found)
    }

    /** Removes secrets from errors: their texts may come from servers, authorization servers and configs. */
    const scrubbing = <A>(
      server: string,
      config: ServerConfig | undefined,
      attempt: (target: LoginTarget) => Effect.Effect<A, AuthError>
    ): Effect.Effect<A, AuthError> =>
      Effect.flatMap(target(server, config), (target) => {
        const scrub = scrubFor(context, target)
        return Effect.mapError(attempt(target), (error) => scrubbedLogin(scrub)(error))
      })

    return {
      credentialsFor: (server, config, given) =>
        Effect.gen(function* () {
          const target = loginTargetOf(server, config)
          const own = target === undefined ? undefined : yield* OAuthCredentials.make(context, target)
          return given === undefined ? own : given.credentials(own)
        }),
      login: (server, config) => scrubbing(server, config, logins.login),
      startLogin: (server, config) => scrubbing(server, config, logins.start),
      finishLogin: (server, config, callback) => scrubbing(server, config, (target) => logins.finish(target, callback)),
      logout: (server, config) => {
        // Also if the config allows no login any more: stored tokens are still deleted.
        const key = config?._tag === "Remote" ? keyOf(server, config) : undefined
        return key === undefined ? Effect.void : logins.logout(key)
      },
      abandon: logins.abandon,
      status: (server, config) =>
        Effect.gen(function* () {
          const who = yield* target(server, config)
          const tokens = tokensOf(who, Option.getOrUndefined(yield* context.store.load(who)))
          if (tokens === undefined) return "not_authenticated"
          const isOver = (tokens.expiresAt ?? Infinity) <= (yield* Clock.currentTimeMillis)
          const isLost = tokens.refused === true || (isOver && !isRenewable(who, tokens))
          return isLost ? "expired" : "authenticated"
        }).pipe(Effect.orElseSucceed((): LoginStatus => "not_authenticated"))
    }
  })

/** The reason why a login to this server is not possible, and how to change that. */
const noLogin = (server: string, config: ServerConfig | undefined): AuthError => {
  const because = (reason: string, detail: string) => new AuthError({ server, reason, detail })
  if (config === undefined) return because("invalid_config", "its config cannot be used; correct it first")
  if (config._tag === "Local") return because("not_remote", "it is a process of ours: nobody logs in to it")
  if (config.oauth === false) return because("oauth_off", `"oauth" is false for this server; remove that to log in`)
  return allowsLogin(config)
    ? because("invalid_config", `its "url" is no address of the web`)
    : because("header_set", `its config says itself what to send as "Authorization"; remove that to log in`)
}
