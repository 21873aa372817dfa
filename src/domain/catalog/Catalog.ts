/**
 * Merges the listings of all servers into one immutable catalog, looks up tools in it, and compares two catalogs.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import type { Catalog } from "./Catalog/model.js"
import type { Tool } from "./Protocol.js"

export { type Assembly, assembly, type Replaced } from "./Catalog/assembly.js"
export { type Change, changes, same } from "./Catalog/changes.js"
export { type Merged, merger, type Source } from "./Catalog/merger.js"
export { Catalog, empty, Listings, noListings } from "./Catalog/model.js"
export { retain } from "./Catalog/retain.js"

/** Builds the index of a catalog on first use. A catalog never changes. */
const indexed = <Index>(build: (catalog: Catalog) => Index): ((catalog: Catalog) => Index) => {
  const built = new WeakMap<Catalog, Index>()
  return (catalog) => {
    const index = built.get(catalog) ?? build(catalog)
    built.set(catalog, index)
    return index
  }
}

const byPublicName = indexed(({ tools }) => new Map(tools.map((tool) => [tool.name, tool])))

const byServer = indexed(({ tools }) => {
  const servers = new Map<string, Map<string, Tool>>()
  for (const tool of tools) {
    const known = servers.get(tool.server) ?? new Map<string, Tool>()
    servers.set(tool.server, known.set(tool.rawName, tool))
  }
  return servers
})

/**
 * The tool with a public name.
 *
 * @since 0.1.0
 * @category looking up
 */
export const get = (catalog: Catalog, publicName: string): Option.Option<Tool> =>
  Option.fromNullable(byPublicName(catalog).get(publicName))

/**
 * The tool that a server lists under a name.
 *
 * @since 0.1.0
 * @category looking up
 */
export const find = (catalog: Catalog, server: string, rawName: string): Tool | undefined =>
  byServer(catalog).get(server)?.get(rawName)
