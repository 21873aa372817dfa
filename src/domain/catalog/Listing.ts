/**
 * Validates the lists of a server entry by entry: a malformed entry is omitted and reported, the others stay.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Diagnostic } from "../Diagnostic.js"
import { describeType } from "../Issue.js"
import * as Check from "./Listing/check.js"
import { headerIssue } from "./Listing/headers.js"
import { type Kind, salvage } from "./Listing/salvage.js"
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
  /** Empty if the server gave none. */
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
  /** What was left out or changed, and why. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Milliseconds for which the server says the list stays true. Absent if it said nothing. */
  readonly ttl?: number | undefined
}

/**
 * The good tools among the entries of a list, in their order. Nothing throws, nothing is fetched, and what is good stays the
 * very same object, with the keys we do not know and its schemas to the letter. Whether a schema can be used for checking
 * arguments is another question, asked at the first call.
 *
 * - An entry without a name or without an `inputSchema` for an object is left out, and so is a second one of the same name.
 * - An optional key that is wrong costs only itself; null is as good as absent.
 * - Each is reported as a diagnostic, up to a hundred.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const tools = (
  entries: ReadonlyArray<unknown>,
  options?: {
    /**
     * Leaves out tools whose `x-mcp-header` declarations break the rules, as revision 2026-07-28 asks of clients over HTTP.
     * Defaults to false.
     */
    readonly headers?: boolean | undefined
  }
): Listing<ListedTool> => listing(options?.headers === true ? { ...tool, refusal } : tool, entries)

/**
 * The good resources among the entries of a list, as {@link tools} does it. The URI tells them apart.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const resources = (entries: ReadonlyArray<unknown>): Listing<ListedResource> => listing(resource, entries)

/**
 * The good resource templates among the entries of a list, as {@link tools} does it. The URI template tells them apart.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const resourceTemplates = (entries: ReadonlyArray<unknown>): Listing<ListedResourceTemplate> =>
  listing(resourceTemplate, entries)

/**
 * The good prompts among the entries of a list, as {@link tools} does it. An argument without a name is left out of its
 * prompt.
 *
 * @since 0.1.0
 * @category salvaging
 */
export const prompts = (entries: ReadonlyArray<unknown>): Listing<ListedPrompt> => {
  const { diagnostics, items } = listing<ListedPrompt>(prompt, entries)
  return { diagnostics, items: items.map((item) => (item.arguments === undefined ? { ...item, arguments: [] } : item)) }
}

/** A kind asks for what its model asks for, and `test/laws/listing.test.ts` holds the two together. */
const listing = <A>(kind: Kind, entries: ReadonlyArray<unknown>): Listing<A> => salvage(kind, entries) as Listing<A>

const refusal: NonNullable<Kind["refusal"]> = {
  code: "invalid_header",
  issue: ({ inputSchema }) => headerIssue(inputSchema)
}

/** The arguments of a call are an object: a schema for something else can never be met. */
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

const tool: Kind = {
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

/** What resources and their templates have in common. */
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

const resource: Kind = {
  noun: "resource",
  id: "uri",
  required: [
    ["uri", Check.string],
    ["name", Check.string]
  ],
  optional: [...located, ["size", Check.number]]
}

const resourceTemplate: Kind = {
  noun: "resource template",
  id: "uriTemplate",
  required: [
    ["uriTemplate", Check.string],
    ["name", Check.string]
  ],
  optional: located
}

const argument = Check.struct([["name", Check.string]], [...described, ["required", Check.boolean]])

const prompt: Kind = {
  noun: "prompt",
  id: "name",
  required: [["name", Check.string]],
  optional: [...decorated, ["arguments", Check.arrayOf(argument)]]
}
