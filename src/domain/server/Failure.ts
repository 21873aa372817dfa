/**
 * Classifies connection errors: the kind decides what the lifecycle does next. No other place decides this. Like `Lifecycle`,
 * it is outside semantic versioning.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { defined } from "../internal/defined.js"
import { withoutName } from "../internal/withoutName.js"
import type { ConnectionError } from "../Errors/connectionErrors.js"
import { isShortage } from "../internal/shortage.js"

/**
 * - `transient`: a retry can help.
 * - `permanent`: a retry fails in the same way until something is changed.
 * - `auth`, `registration`: the user must act.
 * - `shortage`: this process or machine lacks resources. It is no failure of the server.
 * - `session_lost`: the server responds, but no longer knows the session.
 *
 * @since 0.1.0
 * @category models
 */
export const Kind = Schema.Literal("transient", "permanent", "auth", "registration", "session_lost", "shortage")

/**
 * @since 0.1.0
 * @category models
 */
export type Kind = typeof Kind.Type

/**
 * @since 0.1.0
 * @category models
 */
export const Failure = Schema.Struct({
  kind: Kind,
  /** For people, scrubbed. */
  error: Schema.String,
  errorTag: Schema.String,
  /** The wait that the server asked for, in milliseconds. */
  retryAfter: Schema.optional(Schema.Finite),
  exitCode: Schema.optional(Schema.Finite),
  signal: Schema.optional(Schema.String),
  stderr: Schema.optional(Schema.String),
  scope: Schema.optional(Schema.String),
  hint: Schema.optional(Schema.String)
}).annotations({ identifier: "Failure" })

/**
 * @since 0.1.0
 * @category models
 */
export type Failure = typeof Failure.Type

/** The exit codes of a shell that cannot find or run a command. A retry does not help. */
const commandNotUsable = new Set([126, 127])

/** Request Timeout, Too Early, Too Many Requests. */
const retryableStatus = new Set([408, 425, 429])

const kindOf = (error: ConnectionError): Kind => {
  switch (error._tag) {
    case "AuthRequired":
      return "auth"
    case "RegistrationRequired":
      return "registration"
    case "SessionLost":
      return "session_lost"
    case "AuthError":
      return error.reason === "unavailable" ? "transient" : "permanent"
    case "SpawnFailed":
      return error.reason === "no_resources" ? "shortage" : "permanent"
    case "ProcessExited":
      return error.phase !== undefined && commandNotUsable.has(error.exitCode ?? 0) ? "permanent" : "transient"
    case "HttpFailed":
      return error.status >= 500 || retryableStatus.has(error.status) ? "transient" : "permanent"
    case "NetworkFailed":
      if (isShortage(error.code)) return "shortage"
      return error.permanent ? "permanent" : "transient"
    case "ConnectTimeout":
    case "HandshakeRefused":
    case "ConnectionClosed":
    case "HealthCheckFailed":
    case "UnexpectedFailure":
      return "transient"
    case "InvalidConfig":
    case "IncompatibleServer":
      return "permanent"
  }
}

/** The details of an error that a status shows besides the message. */
const detailsOf = (error: ConnectionError): Partial<Failure> => {
  switch (error._tag) {
    case "AuthRequired":
      return { scope: error.scope, hint: error.hint }
    case "RegistrationRequired":
      return { hint: error.hint }
    case "ProcessExited":
      return { exitCode: error.exitCode, signal: error.signal, stderr: error.stderr }
    case "HttpFailed":
      return { retryAfter: error.retryAfter }
    default:
      return {}
  }
}

/** The text without the server's name and the hint, which are shown beside it. */
const textOf = (error: ConnectionError): string => {
  switch (error._tag) {
    case "AuthRequired":
      return error.reason
    case "RegistrationRequired":
      return error.detail
    default:
      return withoutName(error.server, error.message)
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const fromError = (error: ConnectionError): Failure => ({
  kind: kindOf(error),
  error: textOf(error),
  errorTag: error._tag,
  ...defined(detailsOf(error))
})
