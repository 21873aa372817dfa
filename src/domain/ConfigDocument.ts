/**
 * A whole configuration file: servers under any of the three keys that clients use, and what applies to all of them. A host's
 * file has keys of its own, which are none of our business.
 *
 * @since 0.1.0
 */
import * as JSONSchema from "effect/JSONSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { openStruct } from "./openStruct.js"
import * as Input from "./ServerConfig/Input.js"

const Servers = Schema.Record({ key: Schema.String, value: Schema.Union(Input.Local, Input.Remote, Input.Switch) })

const ToolGlobs = Schema.Record({ key: Schema.String, value: Schema.Boolean })

/**
 * @since 0.1.0
 * @category models
 */
export const ConfigDocument = openStruct({
  $schema: Input.key(Schema.String, "The address of this schema, for editors."),
  mcp: Input.key(Servers, "Servers by name."),
  mcpServers: Input.key(Servers, 'Servers by name; the same as "mcp".'),
  servers: Input.key(Servers, 'Servers by name; the same as "mcp".'),
  tools: Input.key(ToolGlobs, "Patterns on server_tool: true offers, false hides, the last match wins."),
  agent: Input.key(
    Schema.Record({
      key: Schema.String,
      value: openStruct({ tools: Input.key(ToolGlobs, "Patterns on server_tool, after all others.") })
    }),
    "What single agents see."
  ),
  guard: Input.key(
    Schema.Boolean,
    "Whether a small process ends the servers if the supervisor is killed. Read when it starts. Default true."
  ),
  permission: Input.key(Schema.Unknown, "Rules for what may be called without asking."),
  maxServers: Input.key(
    Schema.Int.pipe(Schema.between(1, 10_000)),
    "How many servers of one file are used, in the order of the file; the rest is reported. It holds for every file, also where it is set in one of them. Of servers that are not trusted, at most 200 in all project files together. Default 1000"
  ),
  experimental: Input.key(
    openStruct({ mcp_timeout: Input.key(Input.Millis, 'The "timeout" of servers that set none.') }),
    "Settings under trial."
  )
})

/**
 * The document as JSON Schema, so that editors complete and check config files.
 *
 * @since 0.1.0
 * @category conversions
 */
export const jsonSchema = (): object =>
  tidy({ title: "mcp-supervisor configuration", ...JSONSchema.make(ConfigDocument) })

/** Without the parts that say nothing. */
const tidy = <A>(node: A): A => {
  if (Array.isArray(node)) return node.map(tidy) as A
  if (!Predicate.isRecord(node)) return node
  const entries = Object.entries(node).filter(([key, value]) => !saysNothing(key, value))
  return Object.fromEntries(entries.map(([key, value]) => [key, tidy(value)])) as A
}

const saysNothing = (key: string, value: unknown): boolean =>
  (key === "required" && Array.isArray(value) && value.length === 0) ||
  (key === "properties" && Predicate.isRecord(value) && Object.keys(value).length === 0) ||
  (key === "$id" && value === "/schemas/unknown") ||
  (key === "title" && (value === "unknown" || value === "nonEmptyString"))
