/**
 * The errors of commands to the supervisor.
 */
import * as Schema from "effect/Schema"
import { excerpt } from "../internal/excerpt.js"
import { Issue, renderAll } from "../Issue.js"
import { describe, ServerStatus } from "../server/ServerStatus.js"

/**
 * @since 0.1.0
 * @category command errors
 */
export class ServerNotFound extends Schema.TaggedError<ServerNotFound>("mcp-supervisor/ServerNotFound")(
  "ServerNotFound",
  {
    server: Schema.String,
    /** The most similar name of a server. */
    nearest: Schema.optional(Schema.String)
  }
) {
  override get message(): string {
    const next = this.nearest === undefined ? "list the servers to see their names" : `did you mean "${this.nearest}"?`
    return `there is no server "${excerpt(this.server)}"; ${next}`
  }
}

/**
 * @since 0.1.0
 * @category command errors
 */
export class ServerExists extends Schema.TaggedError<ServerExists>("mcp-supervisor/ServerExists")("ServerExists", {
  server: Schema.String
}) {
  override get message(): string {
    return `there is a server "${excerpt(this.server)}" already; remove it first or choose another name`
  }
}

/**
 * A config is invalid. The issues name places and what is expected there, never values.
 *
 * @since 0.1.0
 * @category command errors
 */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>("mcp-supervisor/InvalidConfig")("InvalidConfig", {
  /** Absent if the error is not in the entry of one server. */
  server: Schema.optional(Schema.String),
  issues: Schema.Array(Issue),
  /** Whether the server is disabled: then the error matters only once it is enabled. */
  disabled: Schema.optional(Schema.Boolean)
}) {
  override get message(): string {
    return `${this.server === undefined ? "" : `${excerpt(this.server)}: `}invalid config: ${renderAll(this.issues)}`
  }
}

/**
 * A config file was not changed: it cannot be read or written, or the requested change would also change something else.
 *
 * @since 0.1.0
 * @category command errors
 */
export class EditRefused extends Schema.TaggedError<EditRefused>("mcp-supervisor/EditRefused")("EditRefused", {
  file: Schema.String,
  /** The reason, and what to do instead. */
  reason: Schema.String,
  /** The issues of the current file. */
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    const details = this.issues.length === 0 ? "" : `: ${renderAll(this.issues)}`
    return `${this.file} was not changed: ${this.reason}${details}`
  }
}

/**
 * Servers marked `required` are not connected.
 *
 * @since 0.1.0
 * @category command errors
 */
export class RequiredServerFailed extends Schema.TaggedError<RequiredServerFailed>(
  "mcp-supervisor/RequiredServerFailed"
)("RequiredServerFailed", {
  servers: Schema.NonEmptyArray(Schema.Struct({ server: Schema.String, status: ServerStatus }))
}) {
  override get message(): string {
    const each = this.servers.map(({ server, status }) => `${server} (${describe(status)})`)
    return `required servers are not connected: ${each.join(", ")}`
  }
}
