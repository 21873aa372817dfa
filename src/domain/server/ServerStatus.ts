/**
 * The public status of a server. Statuses are plain objects, distinguished by `status`; times are epoch milliseconds.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Era, Push, ServerInfo, Transport } from "../catalog/Protocol.js"

/**
 * The phase of an attempt.
 *
 * @since 0.1.0
 * @category models
 */
export const AttemptPhase = Schema.Literal("spawn", "handshake", "discover")

/**
 * @since 0.1.0
 * @category models
 */
export type AttemptPhase = typeof AttemptPhase.Type

/**
 * An attempt is running or about to start.
 *
 * @since 0.1.0
 * @category statuses
 */
export const Connecting = Schema.Struct({
  status: Schema.Literal("connecting"),
  /** The number of consecutive failures plus one. */
  attempt: Schema.Finite,
  since: Schema.Finite,
  phase: AttemptPhase
}).annotations({ identifier: "Connecting" })

/**
 * The server takes calls: the handshake is done and its lists are fetched.
 *
 * @since 0.1.0
 * @category statuses
 */
export const Connected = Schema.Struct({
  status: Schema.Literal("connected"),
  since: Schema.Finite,
  transport: Transport,
  protocolVersion: Schema.String,
  era: Era,
  serverInfo: Schema.optional(ServerInfo),
  instructions: Schema.optional(Schema.String),
  tools: Schema.Finite,
  resources: Schema.Finite,
  prompts: Schema.Finite,
  push: Push
}).annotations({ identifier: "Connected" })

/**
 * A lazy server that is not running. Its tools are listed from the cache, and the first call starts it.
 *
 * @since 0.1.0
 * @category statuses
 */
export const Idle = Schema.Struct({
  status: Schema.Literal("idle"),
  since: Schema.Finite
}).annotations({ identifier: "Idle" })

/**
 * Why a server is disabled: its config, a command, or missing trust in the file that declares it.
 *
 * @since 0.1.0
 * @category statuses
 */
export const DisabledBy = Schema.Literal("config", "command", "trust")

/**
 * @since 0.1.0
 * @category statuses
 */
export type DisabledBy = typeof DisabledBy.Type

/**
 * The server is disabled; `hint` says how to enable it.
 *
 * @since 0.1.0
 * @category statuses
 */
export const Disabled = Schema.Struct({
  status: Schema.Literal("disabled"),
  by: DisabledBy,
  hint: Schema.optional(Schema.String)
}).annotations({ identifier: "Disabled" })

/**
 * Not connected because of a failure. `retryAt` is the time of the next attempt. `gaveUp` says that the server failed too often.
 * Without either, something must change before the next attempt.
 *
 * @since 0.1.0
 * @category statuses
 */
export const Failed = Schema.Struct({
  status: Schema.Literal("failed"),
  error: Schema.String,
  /** The `_tag` of the error. */
  errorTag: Schema.String,
  /** Consecutive failures. */
  failures: Schema.Finite,
  retryAt: Schema.optional(Schema.Finite),
  gaveUp: Schema.optional(Schema.String),
  exitCode: Schema.optional(Schema.Finite),
  signal: Schema.optional(Schema.String),
  stderr: Schema.optional(Schema.String)
}).annotations({ identifier: "Failed" })

/**
 * The user must log in or set credentials.
 *
 * @since 0.1.0
 * @category statuses
 */
export const NeedsAuth = Schema.Struct({
  status: Schema.Literal("needs_auth"),
  reason: Schema.String,
  scope: Schema.optional(Schema.String),
  hint: Schema.String
}).annotations({ identifier: "NeedsAuth" })

/**
 * The user must register a client with the authorization server.
 *
 * @since 0.1.0
 * @category statuses
 */
export const NeedsClientRegistration = Schema.Struct({
  status: Schema.Literal("needs_client_registration"),
  error: Schema.String,
  hint: Schema.String
}).annotations({ identifier: "NeedsClientRegistration" })

/**
 * @since 0.1.0
 * @category models
 */
export const ServerStatus = Schema.Union(
  Connecting,
  Connected,
  Idle,
  Disabled,
  Failed,
  NeedsAuth,
  NeedsClientRegistration
).annotations({ identifier: "ServerStatus" })

/**
 * @since 0.1.0
 * @category models
 */
export type ServerStatus = typeof ServerStatus.Type

/**
 * Whether two statuses are equal.
 *
 * @since 0.1.0
 * @category comparing
 */
export const equals: (a: ServerStatus, b: ServerStatus) => boolean = Schema.equivalence(ServerStatus)

/**
 * Whether the status stays as it is until something happens: everything but `connecting`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSettled = (status: ServerStatus): boolean => status.status !== "connecting"

/**
 * Whether the server takes calls: it is connected, or idle and started by the first call.
 *
 * @since 0.1.0
 * @category guards
 */
export const isUsable = ({ status }: ServerStatus): boolean => status === "connected" || status === "idle"

/**
 * Describes a server that is not connected in a few words: status, reason, and what to do.
 *
 * @since 0.1.0
 * @category describing
 */
export const describe = (status: ServerStatus): string => {
  const why = "error" in status ? status.error : "reason" in status ? status.reason : undefined
  const next = "hint" in status ? status.hint : undefined
  return `${status.status}${why === undefined ? "" : `: ${why}`}${next === undefined ? "" : `; ${next}`}`
}

/**
 * One kind of status: `StatusOf<"failed">`.
 *
 * @since 0.1.0
 * @category models
 */
export type StatusOf<Status extends ServerStatus["status"]> = Extract<ServerStatus, { readonly status: Status }>
