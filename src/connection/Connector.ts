/**
 * The port through which servers are reached. `layer` reaches real ones; `mcp-supervisor/Testing` has one for tests.
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
 * Who answers what a server asks. A capability is advertised to the server only if its handler is there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handlers {
  /** The places the server may work in; each value of the stream replaces the one before. */
  readonly roots?: Stream.Stream<ReadonlyArray<Protocol.Root>> | undefined
  readonly elicit?: ((request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult>) | undefined
  readonly sample?: ((request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult>) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ConnectOptions {
  /** The name the server has in errors and logs. */
  readonly server: string
  readonly config: ServerConfig
  readonly handlers?: Handlers | undefined
  /** What is shown to a remote server. Defaults to what its config says. */
  readonly credentials?: Credentials | undefined
  /** Told as the attempt comes further. */
  readonly onPhase?: ((phase: AttemptPhase) => Effect.Effect<void>) | undefined
  /** Told each line the server writes, also when the attempt fails. Must not throw. */
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
     * Connects within the config's `timeout.connect`. May be interrupted at any moment. Closing the scope ends everything
     * that belongs to the session, within a bound.
     */
    readonly connect: (options: ConnectOptions) => Effect.Effect<Session, Errors.ConnectionError, Scope.Scope>
  }
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How we introduce ourselves. Defaults to `mcp-supervisor` and its version. */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined
  /**
   * Whether local servers get the PATH of the user's login shell, for programs that are not started from one. Defaults to
   * false: the PATH we have ourselves.
   */
  readonly loginPath?: boolean | undefined
}

/**
 * Reaches real servers: processes, and URLs. While it is there, a hook on the exit of our own process kills what it has
 * started and not ended yet.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Connector> =>
  Layer.scoped(
    Connector,
    Effect.gen(function* () {
      // the SDK takes a while to load: only those wait for it who build this layer
      const { connect, makeConnectorContext } = yield* Effect.promise(() => import("./sdk/sdkConnect.js"))
      const host = yield* makeConnectorContext(options)
      return { connect: (connectOptions) => connect(host, connectOptions) }
    })
  )
