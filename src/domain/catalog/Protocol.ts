/**
 * The MCP data that users see (tools, resources, prompts, content, results), and the transports and protocol revisions. Unknown
 * keys of a server, or of a later revision of the protocol, are kept.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { openStruct } from "../internal/openStruct.js"

export * from "./Protocol/exchange.js"

/**
 * The legacy revisions share the `initialize` handshake; the modern one has no session and no handshake.
 *
 * @since 0.1.0
 * @category revisions
 */
export const Era = Schema.Literal("legacy", "modern")

/**
 * @since 0.1.0
 * @category revisions
 */
export type Era = typeof Era.Type

/**
 * The supported revisions, newest first.
 *
 * @since 0.1.0
 * @category revisions
 */
export const legacyRevisions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const

/**
 * @since 0.1.0
 * @category revisions
 */
export const modernRevisions = ["2026-07-28"] as const

/**
 * The transport of a connection.
 *
 * @since 0.1.0
 * @category connection
 */
export const Transport = Schema.Literal("stdio", "streamable-http", "sse")

/**
 * @since 0.1.0
 * @category connection
 */
export type Transport = typeof Transport.Type

/**
 * The state of the channel for messages that are no responses: not offered, open, or failing and retried while calls go on.
 *
 * @since 0.1.0
 * @category connection
 */
export const Push = Schema.Literal("none", "open", "degraded")

/**
 * @since 0.1.0
 * @category connection
 */
export type Push = typeof Push.Type

/**
 * The name and version that a server reports about itself.
 *
 * @since 0.1.0
 * @category connection
 */
export const ServerInfo = openStruct({
  name: Schema.String,
  version: Schema.String,
  title: Schema.optional(Schema.String)
}).annotations({ identifier: "ServerInfo" })

/**
 * @since 0.1.0
 * @category connection
 */
export type ServerInfo = typeof ServerInfo.Type

/**
 * The lists that a server can have.
 *
 * @since 0.1.0
 * @category catalog
 */
export const ListKind = Schema.Literal("tools", "resources", "prompts")

/**
 * @since 0.1.0
 * @category catalog
 */
export type ListKind = typeof ListKind.Type

/**
 * A JSON Schema as the server sent it, verbatim.
 *
 * @since 0.1.0
 * @category catalog
 */
export const JsonSchema = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * @since 0.1.0
 * @category catalog
 */
export type JsonSchema = typeof JsonSchema.Type

/**
 * The annotations of a tool about its effects. They are hints of the server, not facts.
 *
 * @since 0.1.0
 * @category catalog
 */
export const ToolAnnotations = openStruct({
  title: Schema.optional(Schema.String),
  readOnlyHint: Schema.optional(Schema.Boolean),
  destructiveHint: Schema.optional(Schema.Boolean),
  idempotentHint: Schema.optional(Schema.Boolean),
  openWorldHint: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "ToolAnnotations" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type ToolAnnotations = typeof ToolAnnotations.Type

/**
 * A tool of the merged catalog.
 *
 * @since 0.1.0
 * @category catalog
 */
export const Tool = Schema.Struct({
  /** The public name, unique in the catalog. */
  name: Schema.String,
  server: Schema.String,
  /** The name that its server uses. */
  rawName: Schema.String,
  title: Schema.optional(Schema.String),
  /** Empty if the server omits it. */
  description: Schema.String,
  inputSchema: JsonSchema,
  outputSchema: Schema.optional(JsonSchema),
  annotations: Schema.optional(ToolAnnotations)
}).annotations({ identifier: "Tool" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type Tool = typeof Tool.Type

/**
 * Whether the tool is annotated as safe to repeat: running it twice has the same effect as running it once. Contradictory hints
 * count as unsafe.
 *
 * @since 0.1.0
 * @category catalog
 */
export const isSafeToRepeat = (annotations: ToolAnnotations | undefined): boolean =>
  (annotations?.readOnlyHint === true || annotations?.idempotentHint === true) && annotations.destructiveHint !== true

/**
 * @since 0.1.0
 * @category catalog
 */
export const Resource = Schema.Struct({
  server: Schema.String,
  uri: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  mimeType: Schema.optional(Schema.String)
}).annotations({ identifier: "Resource" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type Resource = typeof Resource.Type

/**
 * @since 0.1.0
 * @category catalog
 */
export const ResourceTemplate = Schema.Struct({
  server: Schema.String,
  uriTemplate: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  mimeType: Schema.optional(Schema.String)
}).annotations({ identifier: "ResourceTemplate" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type ResourceTemplate = typeof ResourceTemplate.Type

/**
 * @since 0.1.0
 * @category catalog
 */
export const PromptArgument = Schema.Struct({
  name: Schema.String,
  description: Schema.optional(Schema.String),
  required: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "PromptArgument" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type PromptArgument = typeof PromptArgument.Type

/**
 * @since 0.1.0
 * @category catalog
 */
export const Prompt = Schema.Struct({
  server: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  arguments: Schema.Array(PromptArgument)
}).annotations({ identifier: "Prompt" })

/**
 * @since 0.1.0
 * @category catalog
 */
export type Prompt = typeof Prompt.Type

/**
 * One block of a result or of a prompt message. `type` is `text`, `image`, `audio`, `resource`, `resource_link`, or a type of a later
 * revision.
 *
 * @since 0.1.0
 * @category results
 */
export const ContentBlock = openStruct({ type: Schema.String }).annotations({ identifier: "ContentBlock" })

/**
 * @since 0.1.0
 * @category results
 */
export type ContentBlock = typeof ContentBlock.Type

/**
 * The result of a tool call. With `isError: true`, the tool reports that it failed.
 *
 * @since 0.1.0
 * @category results
 */
export const CallToolResult = openStruct({
  /** Empty if the server omits it. */
  content: Schema.optionalWith(Schema.Array(ContentBlock), { default: () => [] }),
  structuredContent: Schema.optional(Schema.Unknown),
  isError: Schema.optional(Schema.Boolean),
  _meta: Schema.optional(Schema.Unknown)
}).annotations({ identifier: "CallToolResult" })

/**
 * @since 0.1.0
 * @category results
 */
export type CallToolResult = typeof CallToolResult.Type

/**
 * The text, or the base64 of the bytes, of one resource.
 *
 * @since 0.1.0
 * @category results
 */
export const ResourceContents = openStruct({
  uri: Schema.String,
  mimeType: Schema.optional(Schema.String),
  text: Schema.optional(Schema.String),
  blob: Schema.optional(Schema.String)
}).annotations({ identifier: "ResourceContents" })

/**
 * @since 0.1.0
 * @category results
 */
export type ResourceContents = typeof ResourceContents.Type

/**
 * @since 0.1.0
 * @category results
 */
export const ReadResourceResult = openStruct({ contents: Schema.Array(ResourceContents) }).annotations({
  identifier: "ReadResourceResult"
})

/**
 * @since 0.1.0
 * @category results
 */
export type ReadResourceResult = typeof ReadResourceResult.Type

/**
 * @since 0.1.0
 * @category results
 */
export const PromptMessage = openStruct({
  role: Schema.Literal("user", "assistant"),
  content: ContentBlock
}).annotations({ identifier: "PromptMessage" })

/**
 * @since 0.1.0
 * @category results
 */
export type PromptMessage = typeof PromptMessage.Type

/**
 * @since 0.1.0
 * @category results
 */
export const GetPromptResult = openStruct({
  description: Schema.optional(Schema.String),
  messages: Schema.Array(PromptMessage)
}).annotations({ identifier: "GetPromptResult" })

/**
 * @since 0.1.0
 * @category results
 */
export type GetPromptResult = typeof GetPromptResult.Type

/**
 * Suggestions for the value of a prompt argument or a template variable.
 *
 * @since 0.1.0
 * @category results
 */
export const CompleteResult = openStruct({
  completion: openStruct({
    values: Schema.Array(Schema.String),
    total: Schema.optional(Schema.Finite),
    hasMore: Schema.optional(Schema.Boolean)
  })
}).annotations({ identifier: "CompleteResult" })

/**
 * @since 0.1.0
 * @category results
 */
export type CompleteResult = typeof CompleteResult.Type

/**
 * The progress of a call, in units of the server.
 *
 * @since 0.1.0
 * @category results
 */
export const Progress = openStruct({
  progress: Schema.Finite,
  total: Schema.optional(Schema.Finite),
  message: Schema.optional(Schema.String)
}).annotations({ identifier: "Progress" })

/**
 * @since 0.1.0
 * @category results
 */
export type Progress = typeof Progress.Type

/**
 * The names of the JSON-RPC error codes that a server can return.
 *
 * @since 0.1.0
 * @category errors
 */
export const errorCodes = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  HeaderMismatch: -32020,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
  UrlElicitationRequired: -32042
} as const

/**
 * The name of a JSON-RPC error code. Undefined for unknown codes.
 *
 * @since 0.1.0
 * @category errors
 */
export const errorName = (code: number): string | undefined =>
  Object.entries(errorCodes).find(([, known]) => known === code)?.[0]
