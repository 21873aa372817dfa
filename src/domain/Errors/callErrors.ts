/**
 * The errors of calls. Each says whether the call was executed: after `NotSent` it was not, after `OutcomeUnknown` it may have
 * been.
 */
import * as Schema from "effect/Schema"
import { excerpt } from "../internal/excerpt.js"
import { Issue, renderAll } from "../Issue.js"
import { errorName } from "../catalog/Protocol.js"
import { describe, ServerStatus } from "../server/ServerStatus.js"
import { ServerNotFound } from "./commandErrors.js"
import { AuthRequired, ConnectionError } from "./connectionErrors.js"

/**
 * @since 0.1.0
 * @category call errors
 */
export class ToolNotFound extends Schema.TaggedError<ToolNotFound>("mcp-supervisor/ToolNotFound")("ToolNotFound", {
  /** The requested name. */
  tool: Schema.String,
  server: Schema.optional(Schema.String),
  /** The revision of the catalog that was searched. */
  revision: Schema.optional(Schema.Finite),
  nearest: Schema.optional(Schema.String)
}) {
  override get message(): string {
    const where = this.server === undefined ? "" : ` on server "${excerpt(this.server)}"`
    const next = this.nearest === undefined ? "list the tools to see their names" : `did you mean "${this.nearest}"?`
    return `there is no tool "${excerpt(this.tool)}"${where}; ${next}`
  }
}

/**
 * The server does not accept calls, and will not within the waiting time of the call.
 *
 * @since 0.1.0
 * @category call errors
 */
export class ServerUnavailable extends Schema.TaggedError<ServerUnavailable>("mcp-supervisor/ServerUnavailable")(
  "ServerUnavailable",
  { server: Schema.String, status: ServerStatus }
) {
  override get message(): string {
    return `${this.server} is ${describe(this.status)}`
  }
}

/**
 * The arguments do not match the tool's input schema, or a required one is missing. Nothing was sent.
 *
 * @since 0.1.0
 * @category call errors
 */
export class InvalidArguments extends Schema.TaggedError<InvalidArguments>("mcp-supervisor/InvalidArguments")(
  "InvalidArguments",
  {
    server: Schema.String,
    /** The tool or prompt. */
    subject: Schema.String,
    issues: Schema.NonEmptyArray(Issue)
  }
) {
  override get message(): string {
    return `${this.server}: invalid arguments for ${this.subject}: ${renderAll(this.issues)}`
  }
}

/**
 * The call was not sent: it was not executed and may be repeated.
 *
 * @since 0.1.0
 * @category call errors
 */
export class NotSent extends Schema.TaggedError<NotSent>("mcp-supervisor/NotSent")("NotSent", {
  server: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.server}: not sent (${this.reason}); it is safe to try again`
  }
}

/**
 * The call was sent and its response was lost: it may or may not have been executed.
 *
 * @since 0.1.0
 * @category call errors
 */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>("mcp-supervisor/OutcomeUnknown")(
  "OutcomeUnknown",
  { server: Schema.String, cause: ConnectionError }
) {
  override get message(): string {
    return `${this.server}: the response was lost, the call may have been executed; check before you repeat it (${this.cause.message})`
  }
}

/**
 * A timeout of the call expired: `idle` counts from the last progress, `total` from the start.
 *
 * @since 0.1.0
 * @category call errors
 */
export class CallTimeout extends Schema.TaggedError<CallTimeout>("mcp-supervisor/CallTimeout")("CallTimeout", {
  server: Schema.String,
  which: Schema.Literal("idle", "total"),
  /** Whether the call was sent, so that it may have been executed. */
  sent: Schema.Boolean,
  /** Milliseconds. */
  after: Schema.Finite
}) {
  override get message(): string {
    const what = this.which === "idle" ? "no response and no progress for" : "no response in a total of"
    const outcome = this.sent ? "the call may have been executed" : "the call was not sent"
    return `${this.server}: ${what} ${this.after} ms; ${outcome}`
  }
}

/**
 * @since 0.1.0
 * @category call errors
 */
export class RateLimited extends Schema.TaggedError<RateLimited>("mcp-supervisor/RateLimited")("RateLimited", {
  server: Schema.String,
  /** The wait that the server asked for, in milliseconds. */
  retryAfter: Schema.Finite
}) {
  override get message(): string {
    return `${this.server}: too many requests; try again in ${this.retryAfter} ms`
  }
}

/**
 * The queue of this server is full. Nothing was sent.
 *
 * @since 0.1.0
 * @category call errors
 */
export class Overloaded extends Schema.TaggedError<Overloaded>("mcp-supervisor/Overloaded")("Overloaded", {
  server: Schema.String,
  queued: Schema.Finite
}) {
  override get message(): string {
    return `${this.server}: ${this.queued} calls are already waiting; try again later or raise "concurrency"`
  }
}

/**
 * The server returned an invalid result.
 *
 * @since 0.1.0
 * @category call errors
 */
export class InvalidResult extends Schema.TaggedError<InvalidResult>("mcp-supervisor/InvalidResult")("InvalidResult", {
  server: Schema.String,
  issues: Schema.NonEmptyArray(Issue),
  /** The config key of the limit that the result exceeds. Absent if it exceeds none. */
  exceeds: Schema.optional(Schema.Literal("listBudget"))
}) {
  override get message(): string {
    if (this.exceeds !== undefined) {
      return `${this.server}: the result is too large, raise "${this.exceeds}" if the server needs it: ${renderAll(this.issues)}`
    }
    return `${this.server}: the result is invalid, report it to the server's authors: ${renderAll(this.issues)}`
  }
}

/**
 * The server returned a JSON-RPC error.
 *
 * @since 0.1.0
 * @category call errors
 */
export class ProtocolError extends Schema.TaggedError<ProtocolError>("mcp-supervisor/ProtocolError")("ProtocolError", {
  server: Schema.String,
  code: Schema.Finite,
  /** The message of the server. */
  message: Schema.String,
  data: Schema.optional(Schema.Unknown)
}) {
  /** The name of the code, such as `MethodNotFound`. */
  get codeName(): string | undefined {
    return errorName(this.code)
  }
}

/**
 * The supervisor is shutting down or closed.
 *
 * @since 0.1.0
 * @category call errors
 */
export class SupervisorClosed extends Schema.TaggedError<SupervisorClosed>("mcp-supervisor/SupervisorClosed")(
  "SupervisorClosed",
  {}
) {
  override get message(): string {
    return "the supervisor is closed; build its layer again to continue"
  }
}

/**
 * The errors of reading a resource, getting a prompt and getting a completion.
 *
 * @since 0.1.0
 * @category call errors
 */
export const ReadError = Schema.Union(
  ServerNotFound,
  ServerUnavailable,
  InvalidArguments,
  NotSent,
  OutcomeUnknown,
  CallTimeout,
  AuthRequired,
  RateLimited,
  Overloaded,
  InvalidResult,
  ProtocolError,
  SupervisorClosed
)

/**
 * @since 0.1.0
 * @category call errors
 */
export type ReadError = typeof ReadError.Type

/**
 * The errors of tool calls.
 *
 * @since 0.1.0
 * @category call errors
 */
export const CallError = Schema.Union(ToolNotFound, ...ReadError.members)

/**
 * @since 0.1.0
 * @category call errors
 */
export type CallError = typeof CallError.Type
