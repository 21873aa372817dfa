/**
 * The entry point of auth: credentials and logins of all servers of one supervisor.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Credentials } from "../connection/Credentials.js"
import { version } from "../domain/internal/version.js"
import type { Remote } from "../domain/server/ServerConfig.js"
import * as AuthContext from "./AuthContext.js"
import { Browser, none } from "./Browser.js"
import * as Logins from "./login/Logins.js"
import { loginTargetOf } from "./login/LoginTarget.js"
import * as OAuthCredentials from "./OAuthCredentials.js"
import type * as ProvidedHeaders from "./providedHeaders.js"
import { CredentialStore, makeMemory, unset } from "./tokens/credentialStorePort.js"

export interface Auth {
  /** The credentials of a connection, valid while the scope is open. `undefined` if the config needs none. */
  readonly credentialsFor: (
    server: string,
    config: Remote,
    provided?: ProvidedHeaders.ProvidedHeaders | undefined
  ) => Effect.Effect<Credentials | undefined, never, Scope.Scope>
  readonly logins: Logins.Logins
}

export interface Options extends Pick<AuthContext.Options, "onEvent" | "onChange"> {
  /** The client name and version. Defaults to `mcp-supervisor` and its version. */
  readonly clientInfo?: AuthContext.Options["clientInfo"] | undefined
  /** Shows a page. Defaults to the `Browser` service. */
  readonly openUrl?: ((url: string) => Effect.Effect<void>) | undefined
}

export const make = (options: Options): Effect.Effect<Auth, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* makeContext(options)
    const browser = yield* Browser
    const openUrl = options.openUrl ?? (browser === none ? undefined : browser.open)
    return {
      credentialsFor: Effect.fnUntraced(function* (server, config, provided) {
        const target = loginTargetOf(server, config)
        const own = target === undefined ? undefined : yield* OAuthCredentials.make(context, target)
        return provided === undefined ? own : provided.credentials(own)
      }),
      logins: yield* Logins.make(context, openUrl)
    }
  })

/** The context of all logins, with the store of the `CredentialStore` service. */
export const makeContext = ({
  clientInfo = { name: "mcp-supervisor", version },
  onChange,
  onEvent
}: Omit<Options, "openUrl">): Effect.Effect<AuthContext.AuthContext, never, Scope.Scope> =>
  Effect.flatMap(CredentialStore, (provided) =>
    AuthContext.make({ store: provided === unset ? makeMemory() : provided, clientInfo, onEvent, onChange })
  )
