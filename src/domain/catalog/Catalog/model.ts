/**
 * The merged lists of all servers, and what one server contributes to them.
 */
import * as Schema from "effect/Schema"
import { ListedPrompt, ListedResource, ListedResourceTemplate, ListedTool } from "../Listing.js"
import { Prompt, Resource, ResourceTemplate, Tool } from "../Protocol.js"

/**
 * The entries of all servers, in the order of the servers and of their lists. The revision grows with each change.
 *
 * @since 0.1.0
 * @category models
 */
export const Catalog = Schema.Struct({
  revision: Schema.Finite,
  tools: Schema.Array(Tool),
  resources: Schema.Array(Resource),
  resourceTemplates: Schema.Array(ResourceTemplate),
  prompts: Schema.Array(Prompt)
}).annotations({ identifier: "Catalog" })

/**
 * @since 0.1.0
 * @category models
 */
export type Catalog = typeof Catalog.Type

/**
 * A catalog without entries.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: Catalog = { revision: 0, tools: [], resources: [], resourceTemplates: [], prompts: [] }

/**
 * The listings of one server, unchanged.
 *
 * @since 0.1.0
 * @category models
 */
export const Listings = Schema.Struct({
  tools: Schema.Array(ListedTool),
  resources: Schema.Array(ListedResource),
  resourceTemplates: Schema.Array(ListedResourceTemplate),
  prompts: Schema.Array(ListedPrompt)
}).annotations({ identifier: "Listings" })

/**
 * @since 0.1.0
 * @category models
 */
export type Listings = typeof Listings.Type

/**
 * Empty listings.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noListings: Listings = { tools: [], resources: [], resourceTemplates: [], prompts: [] }
