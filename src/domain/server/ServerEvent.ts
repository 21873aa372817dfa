/**
 * The events that the supervisor publishes. They are numbered without gaps; `Skipped` reports those that a reader missed.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Diagnostic as DiagnosticData } from "../Diagnostic.js"
import { InvalidConfig } from "../Errors/commandErrors.js"
import { Plan } from "./Plan.js"
import { ListKind } from "../catalog/Protocol.js"
import { ServerStatus } from "./ServerStatus.js"

const event = <Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    /** The number of the event, from 1. For `Skipped`, the last number that is missing. */
    seq: Schema.Finite,
    /** Epoch milliseconds. */
    at: Schema.Finite,
    type: Schema.Literal(type),
    server: Schema.optional(Schema.String),
    ...fields
  }).annotations({ identifier: type })

const ofServer = { server: Schema.String }

/**
 * @since 0.1.0
 * @category events
 */
export const StatusChanged = event("StatusChanged", { ...ofServer, from: ServerStatus, to: ServerStatus })

/**
 * Tools, resources or prompts were added, removed or changed. `added` and `removed` contain public tool names, URIs or prompt
 * names.
 *
 * @since 0.1.0
 * @category events
 */
export const CatalogChanged = event("CatalogChanged", {
  ...ofServer,
  revision: Schema.Finite,
  kind: ListKind,
  added: Schema.Array(Schema.String),
  removed: Schema.Array(Schema.String)
})

/**
 * @since 0.1.0
 * @category events
 */
export const ResourceUpdated = event("ResourceUpdated", { ...ofServer, uri: Schema.String })

/**
 * @since 0.1.0
 * @category events
 */
export const ServerAdded = event("ServerAdded", ofServer)

/**
 * @since 0.1.0
 * @category events
 */
export const ServerRemoved = event("ServerRemoved", ofServer)

/**
 * The progress of replacing a connected server after a config change. Without details, the replacement has ended.
 *
 * @since 0.1.0
 * @category events
 */
export const Replacement = event("Replacement", {
  ...ofServer,
  generation: Schema.optional(Schema.Finite),
  error: Schema.optional(Schema.String),
  retryAt: Schema.optional(Schema.Finite)
})

/**
 * A call ended. `outcome` is `ok`, `error` (reported by the tool), the `_tag` of the error, `interrupted`, or `fault` for a
 * defect.
 *
 * @since 0.1.0
 * @category events
 */
export const CallSettled = event("CallSettled", {
  ...ofServer,
  tool: Schema.String,
  outcome: Schema.String,
  ms: Schema.Finite
})

/**
 * @since 0.1.0
 * @category events
 */
export const Diagnostic = event("Diagnostic", { diagnostic: DiagnosticData })

/**
 * @since 0.1.0
 * @category events
 */
export const ConfigApplied = event("ConfigApplied", { plan: Plan })

/**
 * A new config is invalid; the last valid one stays in effect.
 *
 * @since 0.1.0
 * @category events
 */
export const ConfigRejected = event("ConfigRejected", { errors: Schema.Array(InvalidConfig) })

/**
 * @since 0.1.0
 * @category events
 */
export const Auth = event("Auth", {
  ...ofServer,
  what: Schema.Literal("login_started", "login_finished", "login_failed", "refreshed", "logged_out")
})

/**
 * Events are missing: the reader was too slow, or asked for events that are no longer kept.
 *
 * @since 0.1.0
 * @category events
 */
export const Skipped = event("Skipped", { from: Schema.Finite, to: Schema.Finite })

/**
 * @since 0.1.0
 * @category models
 */
export const ServerEvent = Schema.Union(
  StatusChanged,
  CatalogChanged,
  ResourceUpdated,
  ServerAdded,
  ServerRemoved,
  Replacement,
  CallSettled,
  Diagnostic,
  ConfigApplied,
  ConfigRejected,
  Auth,
  Skipped
).annotations({ identifier: "ServerEvent" })

/**
 * @since 0.1.0
 * @category models
 */
export type ServerEvent = typeof ServerEvent.Type

/**
 * The event of one type: `EventOf<"StatusChanged">`.
 *
 * @since 0.1.0
 * @category models
 */
export type EventOf<Type extends ServerEvent["type"]> = Extract<ServerEvent, { readonly type: Type }>

/**
 * A guard for events of one type: `Stream.filter(ServerEvent.is("StatusChanged"))`.
 *
 * @since 0.1.0
 * @category guards
 */
export const is =
  <Type extends ServerEvent["type"]>(type: Type) =>
  (event: ServerEvent): event is EventOf<Type> =>
    event.type === type
