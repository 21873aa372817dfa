/**
 * A snapshot of one server: its status, connection, counts and warnings.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Diagnostic } from "../Diagnostic.js"
import { ServerInfo, Transport } from "../catalog/Protocol.js"
import { ServerStatus } from "./ServerStatus.js"

/**
 * Where a server comes from: a configuration, or `add` while running.
 *
 * @since 0.1.0
 * @category models
 */
export const Origin = Schema.Literal("config", "dynamic")

/**
 * @since 0.1.0
 * @category models
 */
export type Origin = typeof Origin.Type

/**
 * @since 0.1.0
 * @category models
 */
export const ServerSnapshot = Schema.Struct({
  name: Schema.String,
  origin: Origin,
  status: ServerStatus,
  /** The transport of the connection. Always present for a local server. */
  transport: Schema.optional(Transport),
  /** The generation of the newest attempt; 0 before the first. */
  generation: Schema.Finite,
  /** How often the supervisor restarted it automatically. */
  restarts: Schema.Finite,
  /** The process of a local server, while it is connected. */
  pid: Schema.optional(Schema.Finite),
  serverInfo: Schema.optional(ServerInfo),
  protocolVersion: Schema.optional(Schema.String),
  instructions: Schema.optional(Schema.String),
  /** The numbers of listed entries, before filters. */
  tools: Schema.Finite,
  resources: Schema.Finite,
  prompts: Schema.Finite,
  /** The progress of replacing the connection after a config change, while the old one serves. */
  replacement: Schema.optional(
    Schema.Struct({
      generation: Schema.Finite,
      error: Schema.optional(Schema.String),
      retryAt: Schema.optional(Schema.Finite)
    })
  ),
  diagnostics: Schema.Array(Diagnostic)
}).annotations({ identifier: "ServerSnapshot" })

/**
 * @since 0.1.0
 * @category models
 */
export type ServerSnapshot = typeof ServerSnapshot.Type
