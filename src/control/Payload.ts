/**
 * Defines the request and response schemas of the control API that the domain does not define.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Issue } from "../domain/Issue.js"
import { Plan } from "../domain/server/Plan.js"
import { Millis } from "../domain/server/ServerConfig/Input.js"
import { ServerStatus } from "../domain/server/ServerStatus.js"

/**
 * All servers with their status.
 *
 * @since 0.1.0
 * @category responses
 */
export const Statuses = Schema.Record({ key: Schema.String, value: ServerStatus }).annotations({
  identifier: "Statuses"
})

const Entry = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "ServerEntry",
  description: "a server entry as in a config file, in any supported spelling"
})

/**
 * @since 0.1.0
 * @category requests
 */
export const Add = Schema.Struct({
  name: Schema.NonEmptyString.annotations({ description: "a name" }),
  config: Entry,
  /** Also writes the server to a config file. Defaults to false: the server exists until the supervisor shuts down. */
  persist: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "AddServer" })

/**
 * The result of the browser's redirect: its parameters, or the URL that contains them. Additional parameters of the
 * authorization server are ignored (RFC 6749, 4.1.2).
 *
 * @since 0.1.0
 * @category requests
 */
export const Callback = Schema.Union(
  Schema.Struct({ code: Schema.String, state: Schema.String, iss: Schema.optional(Schema.String) }).annotations({
    parseOptions: { onExcessProperty: "ignore" }
  }),
  Schema.Struct({ url: Schema.String })
).annotations({ identifier: "AuthCallback", description: '{ "code", "state" } or { "url" }' })

/**
 * @since 0.1.0
 * @category responses
 */
export const LoginStarted = Schema.Struct({ authorizationUrl: Schema.String, state: Schema.String }).annotations({
  identifier: "LoginStarted"
})

/**
 * The login state of one server.
 *
 * @since 0.1.0
 * @category responses
 */
export const Login = Schema.Struct({
  server: Schema.String,
  login: Schema.Literal("authenticated", "expired", "not_authenticated"),
  status: ServerStatus
}).annotations({ identifier: "Login" })

/**
 * @since 0.1.0
 * @category responses
 */
export type Login = typeof Login.Type

const isArguments = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The arguments of a tool, passed on as they are. `Schema.Record` would drop an argument named `__proto__`. */
const Arguments = Schema.declare(isArguments, {
  jsonSchema: { type: "object", additionalProperties: {} },
  description: "an object"
})

/**
 * @since 0.1.0
 * @category requests
 */
export const Call = Schema.Struct({
  /** The server whose own tool name is in the path. Defaults to none: the path has a public name. */
  server: Schema.optional(Schema.String),
  /** Defaults to none. */
  arguments: Schema.optional(Arguments),
  options: Schema.optional(
    Schema.Struct({
      idleTimeout: Schema.optional(Millis),
      totalTimeout: Schema.optional(Millis),
      waitForReady: Schema.optional(Millis),
      replay: Schema.optional(Schema.Literal("safe", "never")),
      agent: Schema.optional(Schema.String)
    })
  )
}).annotations({ identifier: "CallTool" })

/**
 * @since 0.1.0
 * @category requests
 */
export const Read = Schema.Struct({ server: Schema.String, uri: Schema.String }).annotations({
  identifier: "ReadResource"
})

/**
 * @since 0.1.0
 * @category requests
 */
export const GetPrompt = Schema.Struct({
  server: Schema.String,
  name: Schema.String,
  /** Defaults to none. */
  arguments: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
}).annotations({ identifier: "GetPrompt" })

/**
 * @since 0.1.0
 * @category requests
 */
export const Trust = Schema.Struct({
  /** Approves only this file. Defaults to all files of the project. */
  file: Schema.optional(Schema.String)
}).annotations({ identifier: "Trust" })

const ReviewedPart = Schema.Struct({
  label: Schema.String,
  text: Schema.optional(Schema.String),
  change: Schema.optional(Schema.Literal("added", "changed", "removed"))
}).annotations({ identifier: "ReviewedPart" })

const ReviewedServer = Schema.Struct({
  name: Schema.String,
  change: Schema.Literal("new", "changed", "unchanged"),
  parts: Schema.Array(ReviewedPart)
}).annotations({ identifier: "ReviewedServer" })

/**
 * What was approved, with the changes since the last approval.
 *
 * @since 0.1.0
 * @category responses
 */
export const Trusted = Schema.Struct({
  /** The project's directory, and whether it was trusted before. */
  directory: Schema.optional(Schema.Struct({ path: Schema.String, isTrusted: Schema.Boolean })),
  files: Schema.Array(
    Schema.Struct({
      file: Schema.String,
      servers: Schema.Array(Schema.String),
      entries: Schema.optional(Schema.Array(ReviewedServer)),
      removed: Schema.optional(Schema.Array(Schema.String)),
      settings: Schema.optional(Schema.Array(ReviewedPart))
    })
  ),
  /** The changes that the approval caused. */
  plan: Plan
}).annotations({ identifier: "Trusted" })

/**
 * @since 0.1.0
 * @category responses
 */
export type Trusted = typeof Trusted.Type

const ExplainedValue = Schema.Struct({
  path: Issue.fields.path,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null),
  layer: Schema.String,
  file: Schema.String,
  line: Schema.optional(Schema.Finite),
  column: Schema.optional(Schema.Finite)
}).annotations({ identifier: "ExplainedValue" })

/**
 * The effective configuration and the source of each value, with secrets hidden.
 *
 * @since 0.1.0
 * @category responses
 */
export const Explanation = Schema.Struct({
  servers: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      state: Schema.Literal("enabled", "disabled", "untrusted", "invalid"),
      values: Schema.Array(ExplainedValue),
      issues: Schema.Array(Issue)
    })
  ),
  settings: Schema.Array(ExplainedValue)
}).annotations({ identifier: "Explanation" })

/**
 * @since 0.1.0
 * @category responses
 */
export type Explanation = typeof Explanation.Type

/**
 * @since 0.1.0
 * @category responses
 */
export const Health = Schema.Struct({
  /** The version of this program. */
  version: Schema.String,
  /** The revision of the API. */
  api: Schema.Finite
}).annotations({ identifier: "Health" })

/**
 * The agent whose filters apply. Defaults to the filters for all agents.
 *
 * @since 0.1.0
 * @category requests
 */
export const ForAgent = Schema.Struct({ agent: Schema.optional(Schema.String) })
