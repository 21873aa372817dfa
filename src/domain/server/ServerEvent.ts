/**
 * Everything the supervisor publishes. Events are numbered without gaps; a reader who missed some is told by `Skipped`.
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
    /** Number of the event, from 1; of `Skipped`, the last number that is missing. */
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
 * Tools, resources or prompts came or went. `added` and `removed` hold public tool names, URIs or prompt names.
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
 * How the replacement of a connected server by its new config goes; absent details mean that it is over.
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
 * A call came to its end: `outcome` is `ok`, `error` (the tool's own report), the `_tag` of the error, `interrupted`, or
 * `fault` for what nobody foresaw.
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
 * A new configuration is unusable; the last good one keeps running.
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
 * A reader was too slow, or asked for what is no longer kept: these numbers are missing.
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
 * Chooses the events of one type: `Stream.filter(ServerEvent.is("StatusChanged"))`.
 *
 * @since 0.1.0
 * @category guards
 */
export const is =
  <Type extends ServerEvent["type"]>(type: Type) =>
  (event: ServerEvent): event is EventOf<Type> =>
    event.type === type
