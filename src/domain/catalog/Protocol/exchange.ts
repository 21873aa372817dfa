/**
 * The MCP data of requests from servers, of completions, and of log messages.
 */
import * as Schema from "effect/Schema"
import { openStruct } from "../../internal/openStruct.js"

/**
 * A directory or file that the server may use, as a `file:` URI.
 *
 * @since 0.1.0
 * @category server requests
 */
export const Root = openStruct({ uri: Schema.String, name: Schema.optional(Schema.String) }).annotations({
  identifier: "Root"
})

/**
 * @since 0.1.0
 * @category server requests
 */
export type Root = typeof Root.Type

/**
 * A request for input from the user: a form to fill in, or a page to open.
 *
 * @since 0.1.0
 * @category server requests
 */
export const ElicitRequest = openStruct({
  mode: Schema.Literal("form", "url"),
  message: Schema.String,
  /** The fields of the form, as a JSON Schema of one flat object. */
  requestedSchema: Schema.optional(Schema.Unknown),
  /** The page to open. */
  url: Schema.optional(Schema.String),
  elicitationId: Schema.optional(Schema.String)
}).annotations({ identifier: "ElicitRequest" })

/**
 * @since 0.1.0
 * @category server requests
 */
export type ElicitRequest = typeof ElicitRequest.Type

/**
 * The user's reaction: accepted, declined or cancelled.
 *
 * @since 0.1.0
 * @category server requests
 */
export const ElicitResult = openStruct({
  action: Schema.Literal("accept", "decline", "cancel"),
  content: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: "ElicitResult" })

/**
 * @since 0.1.0
 * @category server requests
 */
export type ElicitResult = typeof ElicitResult.Type

/**
 * A request for a completion by the language model of the client.
 *
 * @since 0.1.0
 * @category server requests
 */
export const SampleRequest = openStruct({
  messages: Schema.Array(Schema.Unknown),
  maxTokens: Schema.Finite,
  systemPrompt: Schema.optional(Schema.String)
}).annotations({ identifier: "SampleRequest" })

/**
 * @since 0.1.0
 * @category server requests
 */
export type SampleRequest = typeof SampleRequest.Type

/**
 * @since 0.1.0
 * @category server requests
 */
export const SampleResult = openStruct({
  role: Schema.Literal("user", "assistant"),
  content: Schema.Unknown,
  model: Schema.String,
  stopReason: Schema.optional(Schema.String)
}).annotations({ identifier: "SampleResult" })

/**
 * @since 0.1.0
 * @category server requests
 */
export type SampleResult = typeof SampleResult.Type

/**
 * A request for suggestions for one value of a prompt or a resource template.
 *
 * @since 0.1.0
 * @category requests
 */
export const CompleteRequest = openStruct({
  ref: Schema.Union(
    openStruct({ type: Schema.Literal("ref/prompt"), name: Schema.String }),
    openStruct({ type: Schema.Literal("ref/resource"), uri: Schema.String })
  ),
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  context: Schema.optional(
    openStruct({ arguments: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })) })
  )
}).annotations({ identifier: "CompleteRequest" })

/**
 * @since 0.1.0
 * @category requests
 */
export type CompleteRequest = typeof CompleteRequest.Type

/**
 * The level of a log message of a server, least urgent first.
 *
 * @since 0.1.0
 * @category logs
 */
export const LogLevel = Schema.Literal("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

/**
 * @since 0.1.0
 * @category logs
 */
export type LogLevel = typeof LogLevel.Type

/**
 * One line that a server wrote, without secrets.
 *
 * @since 0.1.0
 * @category logs
 */
export const LogLine = Schema.Struct({
  /** Epoch milliseconds. */
  at: Schema.Finite,
  /** `stderr` or `stdout` (a line that is no message) of the process, or `server` for a log message of the protocol. */
  source: Schema.Literal("stderr", "stdout", "server"),
  level: Schema.optional(LogLevel),
  logger: Schema.optional(Schema.String),
  text: Schema.String
}).annotations({ identifier: "LogLine" })

/**
 * @since 0.1.0
 * @category logs
 */
export type LogLine = typeof LogLine.Type
