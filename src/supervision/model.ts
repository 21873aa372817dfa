/**
 * The `McpSupervisor` service: its options, its methods and its tag.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { Catalog } from "../domain/catalog/Catalog.js"
import type { ConfigUpdate, Desired } from "../domain/server/Desired.js"
import type * as Errors from "../domain/Errors.js"
import type { Plan } from "../domain/server/Plan.js"
import type * as Protocol from "../domain/catalog/Protocol.js"
import type * as ServerConfig from "../domain/server/ServerConfig.js"
import type { ServerEvent } from "../domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../domain/server/ServerSnapshot.js"
import type { ServerStatus } from "../domain/server/ServerStatus.js"

export type { ConfigUpdate, Desired } from "../domain/server/Desired.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never> extends Omit<Desired, "permission" | "untrusted" | "unreadable" | "diagnostics"> {
  /**
   * The directory for data stored between two runs. Only `layerNode` uses it. Defaults to the data directory of the
   * platform.
   */
  readonly stateDir?: string | undefined
  /**
   * The client name and version sent to authorization servers and, with `layerNode`, to MCP servers. Defaults to
   * `mcp-supervisor` and its version.
   */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined
  /** The directories sent to servers as roots, unless their config sets others. Defaults to the working directory. */
  readonly roots?: ReadonlyArray<string> | undefined
  /** Handles elicitation requests of servers. Without it, the capability is not offered. */
  readonly onElicit?: ((request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, never, R>) | undefined
  /** Handles sampling requests of servers. Without it, the capability is not offered. */
  readonly onSample?: ((request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, never, R>) | undefined
  /**
   * Returns additional headers for a remote server. Called before each attempt, and once more after a request was
   * rejected with 401. If they include `Authorization`, no login is requested.
   */
  readonly headers?:
    | ((
        server: string,
        reason: "connect" | "unauthorized"
      ) => Effect.Effect<Readonly<Record<string, Redacted.Redacted<string>>>, never, R>)
    | undefined
  /**
   * Shows the login page to the user. Defaults to the `Browser` service; with `layerNode`, the browser of this machine.
   */
  readonly openUrl?: ((url: string) => Effect.Effect<void, never, R>) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** The call fails after this long without a response or progress report. Defaults to the server's `timeout.call`. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /**
   * The call fails after this long in any case, including the wait for the server. Defaults to the server's
   * `timeout.total`.
   */
  readonly totalTimeout?: Duration.DurationInput | undefined
  /** Runs for each progress report, in order, before the call returns. */
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** How long to wait for a server that is connecting, idle or about to be retried. Defaults to 10 seconds. */
  readonly waitForReady?: Duration.DurationInput | undefined
  /**
   * `safe` retries a call once if it was not sent, or if its response was lost and the tool is annotated read-only or
   * idempotent. `never` does not retry. Defaults to `safe`.
   */
  readonly replay?: "safe" | "never" | undefined
  /** The agent whose filters apply. Defaults to the filters for all agents. */
  readonly agent?: string | undefined
}

/**
 * A resource changed, or (with `resync`) may have changed while there was no connection.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceUpdated {
  readonly server: string
  readonly uri: string
  readonly resync?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AwaitOptions {
  /** Defaults to all servers. */
  readonly servers?: ReadonlyArray<string> | undefined
  /** Defaults to no timeout. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Shape {
  /** All servers: first those of the config in its order, then those added at run time. */
  readonly servers: Effect.Effect<ReadonlyArray<ServerSnapshot>>
  readonly server: (name: string) => Effect.Effect<ServerSnapshot, Errors.ServerNotFound>
  /** Emits the current value first, then each change. A slow reader gets only the newest value. */
  readonly changes: Stream.Stream<ReadonlyArray<ServerSnapshot>>
  /** Events published from now on. */
  readonly events: Stream.Stream<ServerEvent>
  /**
   * Events from this number on: first those in the log (at most 10,000), then new ones. `Skipped` replaces events that
   * are no longer in the log.
   */
  readonly eventsFrom: (seq: number) => Stream.Stream<ServerEvent>

  /** All tools, resources and prompts. Returns the same object while nothing changes. */
  readonly catalog: Effect.Effect<Catalog>
  /** Emits the current value first, then each change. A slow reader gets only the newest value. */
  readonly catalogChanges: Stream.Stream<Catalog>
  /** The catalog with the filters of one agent. An agent without a config gets the shared catalog. */
  readonly catalogFor: (agent: string) => Effect.Effect<Catalog>

  /** Calls a tool by its public name. */
  readonly callTool: (
    publicName: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, Errors.CallError>
  /** Calls a tool of one server by the server's own name for it. */
  readonly callServerTool: (
    server: string,
    rawTool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, Errors.CallError>
  readonly readResource: (server: string, uri: string) => Effect.Effect<Protocol.ReadResourceResult, Errors.ReadError>
  /**
   * Emits updates of a resource. The subscription survives reconnects, with a `resync` after each. Fails when the
   * server is removed.
   */
  readonly subscribeResource: (server: string, uri: string) => Stream.Stream<ResourceUpdated, Errors.ReadError>
  /** Fails with `InvalidArguments`, without sending anything, if a required argument is missing. */
  readonly getPrompt: (
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>
  ) => Effect.Effect<Protocol.GetPromptResult, Errors.ReadError>
  readonly complete: (
    server: string,
    request: Protocol.CompleteRequest
  ) => Effect.Effect<Protocol.CompleteResult, Errors.ReadError>

  /** Adds a server at run time. Changes of the config do not affect it. */
  readonly add: (
    name: string,
    config: ServerConfig.Input
  ) => Effect.Effect<void, Errors.ServerExists | Errors.InvalidConfig>
  /** Removes a server. Returns when all of its links are released. */
  readonly remove: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  /** Connects a server now. Returns the first status that is not `connecting`. */
  readonly connect: (name: string) => Effect.Effect<ServerStatus, Errors.ServerNotFound>
  /**
   * Closes the link of a server and opens a new one. Returns the first status that is not `connecting`. A supervisor that was
   * built from config files (`layerConfig`, `Control.layer`) reads the files first and applies their changes to all servers.
   */
  readonly restart: (name: string) => Effect.Effect<ServerStatus, Errors.ServerNotFound>
  /** Keeps a server disconnected until `connect`, `enable` or `restart`. Equivalent to `disable`. */
  readonly disconnect: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly enable: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly disable: (name: string) => Effect.Effect<void, Errors.ServerNotFound>

  /** Returns what `reconcile` would do, without doing it. */
  readonly plan: (desired: Desired) => Effect.Effect<Plan, Errors.InvalidConfig>
  /**
   * Applies a new config. Only servers whose config changed are affected. Servers added at run time stay, unless the
   * config contains a server of the same name. A server that a command disabled stays disabled. An invalid config, or the
   * error of an update, changes nothing and is published as `ConfigRejected`.
   */
  readonly reconcile: (desired: Desired | ConfigUpdate) => Effect.Effect<Plan, Errors.InvalidConfig>
  /**
   * Waits until each of the servers (default: all) has settled, or the timeout (default: none) has passed. Each server
   * is awaited once: a server that failed and is connecting again is returned with its failure.
   */
  readonly awaitOutcomes: (options?: AwaitOptions) => Effect.Effect<ReadonlyArray<ServerSnapshot>>
  /** Like `awaitOutcomes`, but fails if a server with `required` is not usable. */
  readonly awaitSettled: (
    options?: AwaitOptions
  ) => Effect.Effect<ReadonlyArray<ServerSnapshot>, Errors.RequiredServerFailed>
  /** The log lines of a server across its restarts: first the stored ones (at most 1,000), then new ones. */
  readonly logs: (name: string) => Stream.Stream<Protocol.LogLine, Errors.ServerNotFound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpSupervisor extends Context.Tag("mcp-supervisor/McpSupervisor")<McpSupervisor, Shape>() {}
