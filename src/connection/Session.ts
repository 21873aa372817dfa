/**
 * One live server as an Effect API. A session belongs to the scope it was opened in and ends with it.
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
 * What the handshake told about the server.
 *
 * @since 0.1.0
 * @category models
 */
export const Info = Schema.Struct({
  transport: Protocol.Transport,
  era: Protocol.Era,
  protocolVersion: Schema.String,
  /** Absent if the server does not introduce itself. */
  serverInfo: Schema.optional(Protocol.ServerInfo),
  /** What the server says it can do, verbatim. */
  capabilities: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** How the server wants to be used. */
  instructions: Schema.optional(Schema.String),
  /** The process of a local server. */
  pid: Schema.optional(Schema.Int)
}).annotations({ identifier: "SessionInfo" })

/**
 * @since 0.1.0
 * @category models
 */
export type Info = typeof Info.Type

/**
 * The two clocks of a request. Both stand still while a handler is asked for an answer: whichever request of the session that
 * belongs to, it is not the server that takes its time.
 *
 * @since 0.1.0
 * @category models
 */
export interface RequestOptions {
  /** Without a sign of life for this long it fails. Defaults to the server's `timeout.call`. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** It fails after this long in any case. Defaults to the server's `timeout.total`. */
  readonly totalTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions extends RequestOptions {
  /** Runs for each progress report, in order; what was reported before the answer runs before the call returns. */
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** Goes to the server beside the arguments, as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Something the server said unasked. Reports of the same that nobody has read yet count as one.
 *
 * @since 0.1.0
 * @category models
 */
export const Notification = Schema.Union(
  Schema.TaggedStruct("ListChanged", { list: Protocol.ListKind }),
  Schema.TaggedStruct("ResourceUpdated", { uri: Schema.String }),
  Schema.TaggedStruct("ElicitationCompleted", { elicitationId: Schema.String }),
  /** The server sent a notification that exceeds a limit: the one of nesting if no reason is given. */
  Schema.TaggedStruct("Dropped", { method: Schema.String, reason: Schema.optional(Schema.String) }),
  Schema.TaggedStruct("PushChanged", { push: Protocol.Push })
)

/**
 * @since 0.1.0
 * @category models
 */
export type Notification = typeof Notification.Type

/**
 * How a request can fail. None of these but `AuthRequired` and an `OutcomeUnknown` says anything about the connection:
 * {@link Session.closed} does.
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
   * All pages, within the server's `timeout.list`. Empty, without asking, if the server does not say that it has tools; so
   * for the other lists.
   */
  readonly listTools: Effect.Effect<Listing.Listing<Listing.ListedTool>, RequestError>
  readonly listResources: Effect.Effect<Listing.Listing<Listing.ListedResource>, RequestError>
  readonly listResourceTemplates: Effect.Effect<Listing.Listing<Listing.ListedResourceTemplate>, RequestError>
  readonly listPrompts: Effect.Effect<Listing.Listing<Listing.ListedPrompt>, RequestError>

  /** Interrupting it tells the server once, returns at once and leaves the connection as it is. */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<Protocol.CallToolResult, RequestError>
  readonly readResource: (
    uri: string,
    options?: RequestOptions
  ) => Effect.Effect<Protocol.ReadResourceResult, RequestError>
  /** Emits at each change; unsubscribes when the last reader of that URI leaves. Ends with the session. */
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
  /** The least urgent log messages the server shall send. */
  readonly setLogLevel: (level: Protocol.LogLevel) => Effect.Effect<void, RequestError>
  /** Succeeds if the server answers within this time, in whatever words. */
  readonly probe: (timeout: Duration.DurationInput) => Effect.Effect<void, Errors.ConnectionError>

  /** Begins with what came since the session was opened, for the first reader. Ends with the session. */
  readonly notifications: Stream.Stream<Notification>
  /**
   * Begins with what came since the session was opened, for the first reader. One that cannot keep up misses the oldest
   * lines. Ends with the session.
   */
  readonly logs: Stream.Stream<Protocol.LogLine>
  readonly push: Effect.Effect<Protocol.Push>
  /** What a local server wrote besides messages: its last words, and how many lines of its stdout were none. */
  readonly output: Effect.Effect<{ readonly stderr: string; readonly strayLines: number }>
  /** Completes with the reason when the session is of no more use. */
  readonly closed: Effect.Effect<Errors.ConnectionError>
}
