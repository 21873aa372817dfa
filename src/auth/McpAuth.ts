/**
 * Logging in to servers that want it, and out again. `McpSupervisor.layer` and `layerNode` provide it beside the supervisor.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Errors from "../domain/Errors.js"
import type { ServerStatus } from "../domain/server/ServerStatus.js"

/**
 * What is known of a login: there is one, there is one that has to be renewed by a person, or there is none.
 *
 * @since 0.1.0
 * @category models
 */
export type LoginStatus = "authenticated" | "expired" | "not_authenticated"

/**
 * @since 0.1.0
 * @category models
 */
export interface AuthShape {
  /**
   * Opens one page in the browser, waits up to 5 minutes until somebody has come back from it, and gives the server's first
   * status after that which is not `connecting`. A second login to the same server waits for the first. Where the config names
   * the grant `client_credentials`, no page is opened.
   */
  readonly login: (name: string) => Effect.Effect<ServerStatus, Errors.AuthError | Errors.ServerNotFound>
  /**
   * Begins a login and gives the address of its page, for whoever can show it. For 5 minutes we listen for who comes back; after
   * that, or where the browser cannot reach us, `finishLogin` takes what it was given. The address is a secret.
   */
  readonly startLogin: (
    name: string
  ) => Effect.Effect<
    { readonly authorizationUrl: string; readonly state: string },
    Errors.AuthError | Errors.ServerNotFound
  >
  /** Finishes a login with the address the browser ended at, or its parameters; also one that another process began. */
  readonly finishLogin: (
    name: string,
    callback: string | URLSearchParams
  ) => Effect.Effect<ServerStatus, Errors.AuthError | Errors.ServerNotFound>
  /** Forgets everything that was kept for the server, and connects it anew. */
  readonly logout: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly status: (name: string) => Effect.Effect<LoginStatus, Errors.ServerNotFound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpAuth extends Context.Tag("mcp-supervisor/McpAuth")<McpAuth, AuthShape>() {}
