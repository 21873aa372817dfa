/**
 * An open MCP connection as an Effect API. A session belongs to the scope it was opened in and ends with it.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type * as Errors from "../domain/Errors.js"
import type * as Listing from "../domain/catalog/Listing.js"
import * as Protocol from "../domain/catalog/Protocol.js"

/**
 * What the handshake returned about the server.
 *
 * @since 0.1.0
 * @category models
 */
export const Info = Schema.Struct({
  transport: Protocol.Transport,
  era: Protocol.Era,
  protocolVersion: Schema.String,
  /** Absent if the server does not send it. */
  serverInfo: Schema.optional(Protocol.ServerInfo),
  /** The capabilities that the server declares, verbatim. */
  capabilities: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The server's instructions for its use. */
  instructions: Schema.optional(Schema.String),
  /** The process id of a local server. */
  pid: Schema.optional(Schema.Int)
}).annotations({ identifier: "SessionInfo" })

/**
 * @since 0.1.0
 * @category models
 */
export type Info = typeof Info.Type

/**
 * The two timeouts of a request. Both clocks stop while a handler of this session is asked, for whichever request: the server
 * is not what takes the time.
 *
 * @since 0.1.0
 * @category models
 */
export interface RequestOptions {
  /** The request fails after this time without a sign of life. Defaults to the server's `timeout.call`. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** The request fails after this time in any case. Defaults to the server's `timeout.total`. */
  readonly totalTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions extends RequestOptions {
  /** Runs for each progress report, in order. Reports that arrive before the result run before the call returns. */
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** Sent to the server beside the arguments, as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
}

/**
 * A notification of the server, or a change of the connection. Equal notifications that have not been read yet are merged into
 * one.
 *
 * @since 0.1.0
 * @category models
 */
export const Notification = Schema.Union(
  Schema.TaggedStruct("ListChanged", { list: Protocol.ListKind }),
  Schema.TaggedStruct("ResourceUpdated", { uri: Schema.String }),
  Schema.TaggedStruct("ElicitationCompleted", { elicitationId: Schema.String }),
  /** The server sent a notification that exceeds a limit: the nesting limit if no reason is given. */
  Schema.TaggedStruct("Dropped", { method: Schema.String, reason: Schema.optional(Schema.String) }),
  Schema.TaggedStruct("PushChanged", { push: Protocol.Push })
)

/**
 * @since 0.1.0
 * @category models
 */
export type Notification = typeof Notification.Type

/**
 * How a request can fail. Only `AuthRequired` and `OutcomeUnknown` say anything about the connection; see {@link
 * Session.closed}.
 *
 * @since 0.1.0
 * @category errors
 */
export type RequestError =
  | Errors.NotSent
  | Errors.OutcomeUnknown
  | Errors.CallTimeout
  | Errors.AuthRequired
  | Errors.RateLimited
  | Errors.InvalidResult
  | Errors.ProtocolError

/**
 * @since 0.1.0
 * @category models
 */
export interface Session {
  readonly info: Info

  /**
   * Lists all pages, within the server's `timeout.list`. Empty, without a request, if the server does not declare the
   * capability, and empty with a diagnostic if it declares the capability but does not know the method. This applies to all
   * lists.
   */
  readonly listTools: Effect.Effect<Listing.Listing<Listing.ListedTool>, RequestError>
  readonly listResources: Effect.Effect<Listing.Listing<Listing.ListedResource>, RequestError>
  readonly listResourceTemplates: Effect.Effect<Listing.Listing<Listing.ListedResourceTemplate>, RequestError>
  readonly listPrompts: Effect.Effect<Listing.Listing<Listing.ListedPrompt>, RequestError>

  /** Calls a tool. An interrupt sends one cancellation to the server, returns immediately and leaves the connection open. */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, RequestError>
  readonly readResource: (
    uri: string,
    options?: RequestOptions
  ) => Effect.Effect<Protocol.ReadResourceResult, RequestError>
  /** Emits at each change. Unsubscribes when the last reader of the URI ends. Ends with the session. */
  readonly subscribeResource: (uri: string) => Stream.Stream<{ readonly uri: string }, RequestError>
  readonly getPrompt: (
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: RequestOptions
  ) => Effect.Effect<Protocol.GetPromptResult, RequestError>
  readonly complete: (
    request: Protocol.CompleteRequest,
    options?: RequestOptions
  ) => Effect.Effect<Protocol.CompleteResult, RequestError>
  /** Sets the lowest level of log messages that the server sends. */
  readonly setLogLevel: (level: Protocol.LogLevel) => Effect.Effect<void, RequestError>
  /** Succeeds if the server responds within this time; an error response counts. */
  readonly probe: (timeout: Duration.DurationInput) => Effect.Effect<void, Errors.ConnectionError>

  /** Notifications. The first reader also receives those that arrived since the session was opened. Ends with the session. */
  readonly notifications: Stream.Stream<Notification>
  /**
   * Log lines. The first reader also receives those that arrived since the session was opened. A reader that cannot keep up
   * misses the oldest lines. Ends with the session.
   */
  readonly logs: Stream.Stream<Protocol.LogLine>
  readonly push: Effect.Effect<Protocol.Push>
  /**
   * What a local server wrote besides messages: the last lines of stderr, and the number of stdout lines that were no messages.
   */
  readonly output: Effect.Effect<{ readonly stderr: string; readonly strayLines: number }>
  /** Completes with the reason when the session is no longer usable. */
  readonly closed: Effect.Effect<Errors.ConnectionError>
}
