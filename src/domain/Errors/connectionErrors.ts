/**
 * The errors of connections: why an attempt failed or a link was lost. All texts are already scrubbed.
 */
import * as Schema from "effect/Schema"
import { AttemptPhase } from "../server/ServerStatus.js"
import { describeShortage, isShortage } from "../internal/shortage.js"
import { shellWord } from "../internal/shellWord.js"
import { InvalidConfig } from "./commandErrors.js"

/**
 * The command of a local server could not be started.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>("mcp-supervisor/SpawnFailed")("SpawnFailed", {
  server: Schema.String,
  command: Schema.String,
  reason: Schema.Literal("not_found", "not_permitted", "bad_directory", "bad_arguments", "no_resources"),
  /** The directories that were searched, or the directory that is missing. */
  where: Schema.optional(Schema.String),
  /** The system's error code, such as `EMFILE`. Present with the reason `no_resources`. */
  code: Schema.optional(Schema.String)
}) {
  override get message(): string {
    const where = this.where ?? "unknown"
    switch (this.reason) {
      case "not_found":
        return `${this.server}: command ${shellWord(this.command)} was not found; install it or give its full path (searched: ${where})`
      case "not_permitted":
        return `${this.server}: command ${shellWord(this.command)} may not be executed; check its permissions`
      case "bad_directory":
        return `${this.server}: the working directory ${where} does not exist or is no directory; correct "cwd"`
      case "bad_arguments":
        return `${this.server}: command ${shellWord(this.command)} was refused by the system; its arguments or environment are invalid or too long`
      case "no_resources":
        return `${this.server}: not started yet, retried soon: ${describeShortage(this.code)}`
    }
  }
}

/**
 * The process of a local server ended.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class ProcessExited extends Schema.TaggedError<ProcessExited>("mcp-supervisor/ProcessExited")("ProcessExited", {
  server: Schema.String,
  /** The phase of the attempt; absent if the server was connected. */
  phase: Schema.optional(AttemptPhase),
  exitCode: Schema.optional(Schema.Finite),
  signal: Schema.optional(Schema.String),
  /** The last lines that the process wrote to stderr. */
  stderr: Schema.optional(Schema.String)
}) {
  override get message(): string {
    const how = this.signal === undefined ? `with code ${this.exitCode ?? "unknown"}` : `by signal ${this.signal}`
    const when = this.phase === undefined ? "" : ` during ${this.phase}`
    const last = this.stderr?.trim().split("\n").at(-1)
    return `${this.server}: the process ended ${how}${when}; ${last ? `last line on stderr: ${last}` : "run its command by hand to see why"}`
  }
}

/**
 * The server did not connect within its timeout.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class ConnectTimeout extends Schema.TaggedError<ConnectTimeout>("mcp-supervisor/ConnectTimeout")(
  "ConnectTimeout",
  {
    server: Schema.String,
    phase: AttemptPhase,
    /** Milliseconds. */
    after: Schema.Finite
  }
) {
  override get message(): string {
    return `${this.server}: no response during ${this.phase} within ${this.after} ms; raise "timeout" if it needs longer`
  }
}

/**
 * The server, or a proxy before it, returned an HTTP status that is no success.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class HttpFailed extends Schema.TaggedError<HttpFailed>("mcp-supervisor/HttpFailed")("HttpFailed", {
  server: Schema.String,
  status: Schema.Finite,
  /** The wait that the server asked for, in milliseconds. */
  retryAfter: Schema.optional(Schema.Finite),
  detail: Schema.optional(Schema.String)
}) {
  override get message(): string {
    const next = this.status >= 500 ? "ask its operator" : 'check "url" and "headers"'
    return `${this.server}: answered HTTP ${this.status}${this.detail === undefined ? "" : ` (${this.detail})`}; ${next}`
  }
}

/**
 * There was no HTTP response: the address, the name, the route or the certificate is wrong.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class NetworkFailed extends Schema.TaggedError<NetworkFailed>("mcp-supervisor/NetworkFailed")("NetworkFailed", {
  server: Schema.String,
  /** The system's error code, such as `ECONNREFUSED`. */
  code: Schema.String,
  /** Whether a retry cannot help, such as with an untrusted certificate or an invalid address. */
  permanent: Schema.Boolean,
  detail: Schema.optional(Schema.String)
}) {
  override get message(): string {
    if (isShortage(this.code)) return `${this.server}: not reached yet, retried soon: ${describeShortage(this.code)}`
    const why = this.detail === undefined ? this.code : `${this.code}: ${this.detail}`
    return `${this.server}: cannot be reached (${why}); check "url", the network and proxies`
  }
}

/**
 * The peer responds, but not with a supported version of MCP.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class IncompatibleServer extends Schema.TaggedError<IncompatibleServer>("mcp-supervisor/IncompatibleServer")(
  "IncompatibleServer",
  {
    server: Schema.String,
    detail: Schema.String,
    /** What to do next. Absent if the address or the protocol may be wrong. */
    hint: Schema.optional(Schema.String)
  }
) {
  override get message(): string {
    const { detail, hint = 'check "url", "type" and "protocol"', server } = this
    return `${server}: not a compatible MCP server (${detail}); ${hint}`
  }
}

/**
 * The server rejected the handshake with an error.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class HandshakeRefused extends Schema.TaggedError<HandshakeRefused>("mcp-supervisor/HandshakeRefused")(
  "HandshakeRefused",
  {
    server: Schema.String,
    /** The JSON-RPC code. */
    code: Schema.Finite,
    detail: Schema.String
  }
) {
  override get message(): string {
    return `${this.server}: refused to connect (${this.code}: ${this.detail}); see its log`
  }
}

/**
 * The connection was closed, but not by the end of a local server's process.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class ConnectionClosed extends Schema.TaggedError<ConnectionClosed>("mcp-supervisor/ConnectionClosed")(
  "ConnectionClosed",
  { server: Schema.String, detail: Schema.optional(Schema.String) }
) {
  override get message(): string {
    const detail = this.detail === undefined ? "" : ` (${this.detail})`
    return `${this.server}: the connection was closed${detail}; its status says whether it is reconnected`
  }
}

/**
 * The server no longer knows the session, most likely because it restarted.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class SessionLost extends Schema.TaggedError<SessionLost>("mcp-supervisor/SessionLost")("SessionLost", {
  server: Schema.String
}) {
  override get message(): string {
    return `${this.server}: the server lost the session; a new one is opened`
  }
}

/**
 * A connected server stopped responding.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class HealthCheckFailed extends Schema.TaggedError<HealthCheckFailed>("mcp-supervisor/HealthCheckFailed")(
  "HealthCheckFailed",
  {
    server: Schema.String,
    /** Milliseconds. */
    after: Schema.Finite
  }
) {
  override get message(): string {
    return `${this.server}: did not respond for ${this.after} ms; it is reconnected`
  }
}

/**
 * The server requires a login, a new login, or a login with more permissions.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class AuthRequired extends Schema.TaggedError<AuthRequired>("mcp-supervisor/AuthRequired")("AuthRequired", {
  server: Schema.String,
  reason: Schema.String,
  /** The scope that the server requires. */
  scope: Schema.optional(Schema.String),
  /** Whether a login can help. False if OAuth is disabled, or if the server does not support it. */
  login: Schema.Boolean
}) {
  get hint(): string {
    return this.login
      ? `log in: mcp-supervisor auth ${shellWord(this.server)}`
      : `a login does not help here: set the server's credentials in "headers"`
  }
  override get message(): string {
    return `${this.server}: ${this.reason}${this.scope === undefined ? "" : ` (scope ${this.scope})`}; ${this.hint}`
  }
}

/**
 * The authorization server does not support dynamic client registration.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class RegistrationRequired extends Schema.TaggedError<RegistrationRequired>(
  "mcp-supervisor/RegistrationRequired"
)("RegistrationRequired", { server: Schema.String, detail: Schema.String }) {
  get hint(): string {
    return `register a client with the authorization server and set "oauth": { "clientId": … } of this server`
  }
  override get message(): string {
    return `${this.server}: ${this.detail}; ${this.hint}`
  }
}

/**
 * A login failed: it was denied, it timed out, or the authorization server is not the expected one.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class AuthError extends Schema.TaggedError<AuthError>("mcp-supervisor/AuthError")("AuthError", {
  server: Schema.String,
  /**
   * A constant code for programs, such as `access_denied` or `issuer_mismatch`. `unavailable` means that
   * the stored credentials are kept and that a retry can help.
   */
  reason: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return this.reason === "unavailable"
      ? `${this.server}: credentials are not available right now: ${this.detail}`
      : `${this.server}: login failed (${this.reason}): ${this.detail}`
  }
}

/**
 * A defect of the supervisor. It affects one server, which is restarted as after any other failure.
 *
 * @since 0.1.0
 * @category connection errors
 */
export class UnexpectedFailure extends Schema.TaggedError<UnexpectedFailure>("mcp-supervisor/UnexpectedFailure")(
  "UnexpectedFailure",
  { server: Schema.String, detail: Schema.String }
) {
  override get message(): string {
    return `${this.server}: unexpected failure, please report it: ${this.detail}`
  }
}

/**
 * The errors of attempts and of lost links.
 *
 * @since 0.1.0
 * @category connection errors
 */
export const ConnectionError = Schema.Union(
  SpawnFailed,
  ProcessExited,
  ConnectTimeout,
  HttpFailed,
  NetworkFailed,
  IncompatibleServer,
  HandshakeRefused,
  ConnectionClosed,
  SessionLost,
  HealthCheckFailed,
  AuthRequired,
  RegistrationRequired,
  AuthError,
  InvalidConfig,
  UnexpectedFailure
)

/**
 * @since 0.1.0
 * @category connection errors
 */
export type ConnectionError = typeof ConnectionError.Type
