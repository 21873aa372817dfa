/**
 * Validates the lists of a server entry by entry: an invalid entry is omitted and reported, the others are kept.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Diagnostic } from "../Diagnostic.js"
import { describeType } from "../Issue.js"
import * as Check from "./Listing/check.js"
import { headerIssue } from "./Listing/headers.js"
import { type EntryRules, salvage } from "./Listing/salvage.js"
import { openStruct } from "../internal/openStruct.js"
import { JsonSchema, PromptArgument, ToolAnnotations } from "./Protocol.js"

/**
 * A tool as its server lists it.
 *
 * @since 0.1.0
 * @category models
 */
export const ListedTool = openStruct({
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  inputSchema: JsonSchema,
  outputSchema: Schema.optional(JsonSchema),
  annotations: Schema.optional(ToolAnnotations)
}).annotations({ identifier: "ListedTool" })

/**
 * @since 0.1.0
 * @category models
 */
export type ListedTool = typeof ListedTool.Type

/**
 * @since 0.1.0
 * @category models
 */
export const ListedResource = openStruct({
  uri: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  mimeType: Schema.optional(Schema.String)
}).annotations({ identifier: "ListedResource" })

/**
 * @since 0.1.0
 * @category models
 */
export type ListedResource = typeof ListedResource.Type

/**
 * @since 0.1.0
 * @category models
 */
export const ListedResourceTemplate = openStruct({
  uriTemplate: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  mimeType: Schema.optional(Schema.String)
}).annotations({ identifier: "ListedResourceTemplate" })

/**
 * @since 0.1.0
 * @category models
 */
export type ListedResourceTemplate = typeof ListedResourceTemplate.Type

/**
 * @since 0.1.0
 * @category models
 */
export const ListedPrompt = openStruct({
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  /** Empty if the server omits it. */
  arguments: Schema.optionalWith(Schema.Array(PromptArgument), { default: () => [] })
}).annotations({ identifier: "ListedPrompt" })

/**
 * @since 0.1.0
 * @category models
 */
export type ListedPrompt = typeof ListedPrompt.Type

/**
 * All pages of one list.
 *
 * @since 0.1.0
 * @category models
 */
export interface Listing<A> {
  readonly items: ReadonlyArray<A>
  /** The entries and keys that were omitted, with the reason. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** The time to live that the server gave, in milliseconds. Absent if it gave none. */
  readonly ttl?: number | undefined
}

/**
 * The valid tools among the entries of a list, in their order. Never throws. A valid entry stays the identical object, with unknown
 * keys and unchanged schemas. Whether a schema can be compiled is checked at the first call.
 *
 * - An entry without a name or without an `inputSchema` for an object is omitted, and so is a second one with the same name.
 * - An invalid optional key is omitted from its entry; null counts as absent.
 * - Each omission is reported as a diagnostic, up to a hundred.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const tools = (
  entries: ReadonlyArray<unknown>,
  options?: {
    /**
     * Whether to omit tools with invalid `x-mcp-header` declarations, as revision 2026-07-28 requires over HTTP. Defaults to
     * false.
     */
    readonly headers?: boolean | undefined
  }
): Listing<ListedTool> => listing(options?.headers === true ? { ...tool, refusal } : tool, entries)

/**
 * The valid resources among the entries of a list, by the rules of {@link tools}. Their id is the URI.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const resources = (entries: ReadonlyArray<unknown>): Listing<ListedResource> => listing(resource, entries)

/**
 * The valid resource templates among the entries of a list, by the rules of {@link tools}. Their id is the URI template.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const resourceTemplates = (entries: ReadonlyArray<unknown>): Listing<ListedResourceTemplate> =>
  listing(resourceTemplate, entries)

/**
 * The valid prompts among the entries of a list, by the rules of {@link tools}. An argument without a name is omitted from its
 * prompt.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const prompts = (entries: ReadonlyArray<unknown>): Listing<ListedPrompt> => {
  const { diagnostics, items } = listing<ListedPrompt>(prompt, entries)
  return { diagnostics, items: items.map((item) => (item.arguments === undefined ? { ...item, arguments: [] } : item)) }
}

/** The checks of a kind accept exactly what its schema accepts; `test/laws/listing.test.ts` verifies this. */
const listing = <A>(rules: EntryRules, entries: ReadonlyArray<unknown>): Listing<A> =>
  salvage(rules, entries) as Listing<A>

const refusal: NonNullable<EntryRules["refusal"]> = {
  code: "invalid_header",
  issue: ({ inputSchema }) => headerIssue(inputSchema)
}

/** The arguments of a call are an object, so a schema for another type can never match. */
const inputSchema: Check.Check = (value, report) => {
  if (!Predicate.isRecord(value)) return Check.wrong(report, "an object", value)
  const { type } = value
  if (type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"))) return value
  const hint = "the arguments of a call are an object"
  return void report({ path: ["type"], expected: '"object"', found: describeType(type), hint })
}

const described: Check.Checks = [
  ["title", Check.string],
  ["description", Check.string]
]

const icon = Check.struct(
  [["src", Check.string]],
  [
    ["mimeType", Check.string],
    ["sizes", Check.arrayOf(Check.string)]
  ]
)

const decorated: Check.Checks = [...described, ["icons", Check.arrayOf(icon)], ["_meta", Check.object]]

const tool: EntryRules = {
  noun: "tool",
  id: "name",
  required: [
    ["name", Check.string],
    ["inputSchema", inputSchema]
  ],
  optional: [
    ...decorated,
    ["outputSchema", Check.object],
    [
      "annotations",
      Check.struct(
        [],
        [
          ["title", Check.string],
          ["readOnlyHint", Check.boolean],
          ["destructiveHint", Check.boolean],
          ["idempotentHint", Check.boolean],
          ["openWorldHint", Check.boolean]
        ]
      )
    ]
  ]
}

/** The optional keys of resources and of resource templates. */
const located: Check.Checks = [
  ...decorated,
  ["mimeType", Check.string],
  [
    "annotations",
    Check.struct(
      [],
      [
        ["audience", Check.arrayOf(Check.string)],
        ["priority", Check.number],
        ["lastModified", Check.string]
      ]
    )
  ]
]

const resource: EntryRules = {
  noun: "resource",
  id: "uri",
  required: [
    ["uri", Check.string],
    ["name", Check.string]
  ],
  optional: [...located, ["size", Check.number]]
}

const resourceTemplate: EntryRules = {
  noun: "resource template",
  id: "uriTemplate",
  required: [
    ["uriTemplate", Check.string],
    ["name", Check.string]
  ],
  optional: located
}

const argument = Check.struct([["name", Check.string]], [...described, ["required", Check.boolean]])

const prompt: EntryRules = {
  noun: "prompt",
  id: "name",
  required: [["name", Check.string]],
  optional: [...decorated, ["arguments", Check.arrayOf(argument)]]
}
