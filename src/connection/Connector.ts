/**
 * The port that opens sessions. `layer` connects to real servers; `mcp-supervisor/Testing` provides a fake for tests.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Errors from "../domain/Errors.js"
import type * as Protocol from "../domain/catalog/Protocol.js"
import type { ServerConfig } from "../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../domain/server/ServerStatus.js"
import type { Credentials } from "./Credentials.js"
import type { Session } from "./Session.js"

/**
 * Handles the requests of a server. A capability is advertised to the server only if its handler is present.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handlers {
  /** The roots of the server. Each value of the stream replaces the previous one. */
  readonly roots?: Stream.Stream<ReadonlyArray<Protocol.Root>> | undefined
  readonly elicit?: ((request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult>) | undefined
  readonly sample?: ((request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult>) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ConnectOptions {
  /** The name of the server in errors and logs. */
  readonly server: string
  readonly config: ServerConfig
  readonly handlers?: Handlers | undefined
  /** Provides the headers for a remote server. Defaults to the headers of its config. */
  readonly credentials?: Credentials | undefined
  /** Runs when the attempt enters a phase. */
  readonly onPhase?: ((phase: AttemptPhase) => Effect.Effect<void>) | undefined
  /** Receives each line that the server writes, also when the attempt fails. Must not throw. */
  readonly onLog?: ((line: Protocol.LogLine) => void) | undefined
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Connector extends Context.Tag("mcp-supervisor/Connector")<
  Connector,
  {
    /**
     * Connects within the config's `timeout.connect`. Can be interrupted at any moment. Closing the scope ends everything that
     * belongs to the session, within a bounded time.
     */
    readonly connect: (options: ConnectOptions) => Effect.Effect<Session, Errors.ConnectionError, Scope.Scope>
  }
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The client info that is sent to servers. Defaults to `mcp-supervisor` and its version. */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined
  /**
   * Whether local servers get the PATH of the user's login shell, for programs that are not started from a shell. Defaults to
   * false: servers get the PATH of this process.
   */
  readonly loginPath?: boolean | undefined
}

/**
 * Connects to real servers: processes and URLs. While the layer exists, a hook on the exit of this process kills the server
 * processes that are still running.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Connector> =>
  Layer.scoped(
    Connector,
    Effect.gen(function* () {
      // Loading the SDK is slow: only programs that build this layer wait for it.
      const { connect, makeConnectorContext } = yield* Effect.promise(() => import("./sdk/sdkConnect.js"))
      const host = yield* makeConnectorContext(options)
      return { connect: (connectOptions) => connect(host, connectOptions) }
    })
  )
