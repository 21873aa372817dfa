/**
 * The `McpAuth` service: login and logout. `McpSupervisor.layer` and `layerNode` provide it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Errors from "../domain/Errors.js"
import type { ServerStatus } from "../domain/server/ServerStatus.js"

/**
 * The state of a login: valid (or renewable), expired (a person has to log in again), or absent.
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
   * Opens one page in the browser, waits up to 5 minutes for its callback, and returns the server's first status after
   * that which is not `connecting`. A second login to the same server waits for the first. With the grant
   * `client_credentials`, no page is opened.
   */
  readonly login: (name: string) => Effect.Effect<ServerStatus, Errors.AuthError | Errors.ServerNotFound>
  /**
   * Starts a login and returns the address of its page. The callback is awaited for 5 minutes; after that, or if the
   * browser cannot reach this machine, pass the callback to `finishLogin`. The address is a secret.
   */
  readonly startLogin: (
    name: string
  ) => Effect.Effect<
    { readonly authorizationUrl: string; readonly state: string },
    Errors.AuthError | Errors.ServerNotFound
  >
  /**
   * Completes a login with the callback address of the browser, or its parameters; also a login that another process
   * started.
   */
  readonly finishLogin: (
    name: string,
    callback: string | URLSearchParams
  ) => Effect.Effect<ServerStatus, Errors.AuthError | Errors.ServerNotFound>
  /** Deletes everything stored for the server and reconnects it. */
  readonly logout: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly status: (name: string) => Effect.Effect<LoginStatus, Errors.ServerNotFound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpAuth extends Context.Tag("mcp-supervisor/McpAuth")<McpAuth, AuthShape>() {}
