/**
 * The service that keeps servers alive: what it is told, what it can do.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { Catalog } from "../domain/catalog/Catalog.js"
import type { Desired } from "../domain/server/Desired.js"
import type * as Errors from "../domain/Errors.js"
import type { Plan } from "../domain/server/Plan.js"
import type * as Protocol from "../domain/catalog/Protocol.js"
import type * as ServerConfig from "../domain/server/ServerConfig.js"
import type { ServerEvent } from "../domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../domain/server/ServerSnapshot.js"
import type { ServerStatus } from "../domain/server/ServerStatus.js"

export type { Desired } from "../domain/server/Desired.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never>
  extends Omit<Desired, "permission" | "untrusted" | "unreadable" | "diagnostics" | "rejected"> {
  /** Where things are kept between two runs. Used by `layerNode` only; defaults to the platform's place for such data. */
  readonly stateDir?: string | undefined
  /**
   * How we introduce ourselves to authorization servers and, with `layerNode`, to servers. Defaults to `mcp-supervisor` and its
   * version.
   */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined
  /** The directories servers are told about unless their config says otherwise. Defaults to the working directory. */
  readonly roots?: ReadonlyArray<string> | undefined
  /** Answers a server that asks the person. Without it, servers are told that nobody can be asked. */
  readonly onElicit?: ((request: Protocol.ElicitRequest) => Effect.Effect<Protocol.ElicitResult, never, R>) | undefined
  /** Answers a server that asks the language model. Without it, servers are told that there is none. */
  readonly onSample?: ((request: Protocol.SampleRequest) => Effect.Effect<Protocol.SampleResult, never, R>) | undefined
  /**
   * Further headers for a remote server, asked for before each attempt, and once more after a request was refused with 401.
   * With `Authorization` among them, no login is asked for.
   */
  readonly headers?:
    | ((
        server: string,
        reason: "connect" | "unauthorized"
      ) => Effect.Effect<Readonly<Record<string, Redacted.Redacted<string>>>, never, R>)
    | undefined
  /** Shows a page to a person who logs in. Defaults to the `Browser` there is: with `layerNode`, the one of this machine. */
  readonly openUrl?: ((url: string) => Effect.Effect<void, never, R>) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** Without a sign of life for this long the call fails. Defaults to the server's `timeout.call`. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** The call fails after this long in any case; waiting for the server counts. Defaults to the server's `timeout.total`. */
  readonly totalTimeout?: Duration.DurationInput | undefined
  /** Runs for each progress report, in order, before the call returns. */
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** How long to wait for a server that is connecting, at rest or about to be tried again. Defaults to 10 seconds. */
  readonly waitForReady?: Duration.DurationInput | undefined
  /**
   * `safe` repeats a call once if it was not sent, or if its answer was lost and the tool says that repeating does no harm.
   * `never` does not repeat. Defaults to `safe`.
   */
  readonly replay?: "safe" | "never" | undefined
  /** Whose filters apply. Defaults to those for everybody. */
  readonly agent?: string | undefined
}

/**
 * A resource changed, or (`resync`) may have: there was a time without a connection.
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
  /** Defaults to all there are. */
  readonly servers?: ReadonlyArray<string> | undefined
  /** Defaults to none. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Shape {
  /** All servers, those of the configuration first, in its order. */
  readonly servers: Effect.Effect<ReadonlyArray<ServerSnapshot>>
  readonly server: (name: string) => Effect.Effect<ServerSnapshot, Errors.ServerNotFound>
  /** The current value first, then each change; a slow reader gets the newest. */
  readonly changes: Stream.Stream<ReadonlyArray<ServerSnapshot>>
  /** From now on. */
  readonly events: Stream.Stream<ServerEvent>
  /** From this number on: what is kept (10,000), then what comes. `Skipped` stands for what is no longer there. */
  readonly eventsFrom: (seq: number) => Stream.Stream<ServerEvent>

  /** All tools, resources and prompts there are. The same object while nothing changes. */
  readonly catalog: Effect.Effect<Catalog>
  /** The current value first, then each change; a slow reader gets the newest. */
  readonly catalogChanges: Stream.Stream<Catalog>
  /** The catalog as one agent sees it. An agent nobody configured sees what everybody sees. */
  readonly catalogFor: (agent: string) => Effect.Effect<Catalog>

  /** Calls a tool by its public name. */
  readonly callTool: (
    publicName: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, Errors.CallError>
  /** Calls a tool by the name its server knows. */
  readonly callServerTool: (
    server: string,
    rawTool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, Errors.CallError>
  readonly readResource: (server: string, uri: string) => Effect.Effect<Protocol.ReadResourceResult, Errors.ReadError>
  /** Survives reconnects, with `resync` after each. Fails when the server is removed. */
  readonly subscribeResource: (server: string, uri: string) => Stream.Stream<ResourceUpdated, Errors.ReadError>
  /** A required argument that is missing is `InvalidArguments`, and nothing is sent. */
  readonly getPrompt: (
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>
  ) => Effect.Effect<Protocol.GetPromptResult, Errors.ReadError>
  readonly complete: (
    server: string,
    request: Protocol.CompleteRequest
  ) => Effect.Effect<Protocol.CompleteResult, Errors.ReadError>

  /** Adds a server while running. Changes of the configuration do not touch it. */
  readonly add: (
    name: string,
    config: ServerConfig.Input
  ) => Effect.Effect<void, Errors.ServerExists | Errors.InvalidConfig>
  /** Returns when nothing of the server is left. */
  readonly remove: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  /** Wants it connected, now. Gives the first status that is not `connecting`. */
  readonly connect: (name: string) => Effect.Effect<ServerStatus, Errors.ServerNotFound>
  /** Ends its connection and makes a new one. Gives the first status that is not `connecting`. */
  readonly restart: (name: string) => Effect.Effect<ServerStatus, Errors.ServerNotFound>
  /** Keeps it down until `connect`, `enable` or `restart`: the same as `disable`. */
  readonly disconnect: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly enable: (name: string) => Effect.Effect<void, Errors.ServerNotFound>
  readonly disable: (name: string) => Effect.Effect<void, Errors.ServerNotFound>

  /** What `reconcile` would do. */
  readonly plan: (desired: Desired) => Effect.Effect<Plan, Errors.InvalidConfig>
  /**
   * Moves to another configuration. Touches only servers whose config changed, and none that was added while running; where
   * a name is taken by such a one, the configuration wins. What a command switched off stays off.
   */
  readonly reconcile: (desired: Desired) => Effect.Effect<Plan, Errors.InvalidConfig>
  /**
   * Waits until each of the servers (default: all there are) has settled, or the timeout (default: none) has passed. Each is
   * waited for once: one that has failed and is connecting again by the end is given as it failed.
   */
  readonly awaitOutcomes: (options?: AwaitOptions) => Effect.Effect<ReadonlyArray<ServerSnapshot>>
  /** The same, but fails if one that is `required` is not usable. */
  readonly awaitSettled: (
    options?: AwaitOptions
  ) => Effect.Effect<ReadonlyArray<ServerSnapshot>, Errors.RequiredServerFailed>
  /** What the server wrote, across its restarts: what is kept (1,000 lines), then what comes. */
  readonly logs: (name: string) => Stream.Stream<Protocol.LogLine, Errors.ServerNotFound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpSupervisor extends Context.Tag("mcp-supervisor/McpSupervisor")<McpSupervisor, Shape>() {}
