/**
 * The schema of a config file: servers under any of the keys that clients use, and settings for all of them. Files of
 * other programs have further keys, which are accepted and ignored.
 *
 * @since 0.1.0
 */
import * as JSONSchema from "effect/JSONSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { openStruct } from "../internal/openStruct.js"
import * as Input from "./ServerConfig/Input.js"
import type { ServerMapKey } from "./serverMapKeys.js"

const Servers = Schema.Record({ key: Schema.String, value: Schema.Union(Input.Local, Input.Remote, Input.Switch) })

const ToolGlobs = Schema.Record({ key: Schema.String, value: Schema.Boolean })

const anotherSpelling = Input.key(Servers, 'Servers by name; another spelling of "mcp".')

const serverMaps = {
  mcp: Input.key(Servers, "Servers by name."),
  mcpServers: anotherSpelling,
  servers: anotherSpelling,
  mcp_servers: Input.key(Servers, "Servers by name; the spelling of Codex.")
} satisfies Record<ServerMapKey, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export const ConfigDocument = openStruct({
  $schema: Input.key(Schema.String, "The URL or path of this schema, for editors."),
  ...serverMaps,
  tools: Input.key(
    ToolGlobs,
    "Patterns for public tool names (server_tool): true shows a tool, false hides it; the last match wins."
  ),
  agent: Input.key(
    Schema.Record({
      key: Schema.String,
      value: openStruct({
        tools: Input.key(ToolGlobs, "Patterns for public tool names (server_tool), applied after all others.")
      })
    }),
    "Settings of individual agents, by name."
  ),
  guard: Input.key(
    Schema.Boolean,
    "Whether a guard process ends the servers if the supervisor is killed. A change applies at the next start of the supervisor. Default true."
  ),
  permission: Input.key(
    Schema.Unknown,
    "Rules for what may be called without asking. This release ignores them, with the warning `permission_not_applied`."
  ),
  maxServers: Input.key(
    Schema.Int.pipe(Schema.between(1, 10_000)),
    "Maximum number of servers of one file; further ones, in the order of the file, are left out and reported. Every file has the limit that the highest trusted layer sets. Servers that are not trusted are limited to 200 in all project files together. Default 1000"
  ),
  experimental: Input.key(
    openStruct({ mcp_timeout: Input.key(Input.Millis, 'The "timeout" of servers that do not set one.') }),
    "Experimental settings."
  )
})

/**
 * The schema as JSON Schema, with which editors complete and check config files.
 *
 * @since 0.1.0
 * @category conversions
 */
export const jsonSchema = (): object =>
  removeEmptyParts({ title: "mcp-supervisor configuration", ...JSONSchema.make(ConfigDocument) })

/** Removes parts of a JSON Schema that carry no information. */
const removeEmptyParts = <A>(node: A): A => {
  if (Array.isArray(node)) return node.map(removeEmptyParts) as A
  if (!Predicate.isRecord(node)) return node
  const entries = Object.entries(node).filter(([key, value]) => !isEmptyPart(key, value))
  return Object.fromEntries(entries.map(([key, value]) => [key, removeEmptyParts(value)])) as A
}

/** Keywords of the generated schema that allow everything, each with its value as JSON. */
const emptyParts: ReadonlySet<string> = new Set([
  "required []",
  "properties {}",
  '$id "/schemas/unknown"',
  'title "unknown"',
  'title "nonEmptyString"'
])

const isEmptyPart = (key: string, value: unknown): boolean => emptyParts.has(`${key} ${JSON.stringify(value)}`)
