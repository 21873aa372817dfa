/**
 * Creates the entries of a catalog from listed entries. One listed entry always yields the same object: unchanged entries are
 * recognised by identity, also after a config change and in the view of another agent.
 */
import type { ListedPrompt, ListedResource, ListedResourceTemplate, ListedTool } from "../Listing.js"
import type { Prompt, Resource, ResourceTemplate, Tool } from "../Protocol.js"

/** An entry must depend only on the listed entry, the server and, for a tool, its public name. */
const once = <Listed extends object, Made>(
  make: (listed: Listed, server: string, name: string) => Made
): ((listed: Listed, server: string, name: string) => Made) => {
  const made = new WeakMap<Listed, Array<{ readonly server: string; readonly name: string; readonly entry: Made }>>()
  return (listed, server, name) => {
    const known = made.get(listed) ?? []
    const found = known.find((each) => each.server === server && each.name === name)
    if (found !== undefined) return found.entry
    const entry = make(listed, server, name)
    made.set(listed, [...known, { server, name, entry }])
    return entry
  }
}

/** Copies the keys that are present. Absent keys stay absent: entries are compared and sent as JSON. */
const pick = <A extends object, K extends keyof A>(from: A, keys: ReadonlyArray<K>): Pick<A, K> => {
  const picked: Partial<A> = {}
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key]
  return picked as Pick<A, K>
}

export const tool: (listed: ListedTool, server: string, name: string) => Tool = once((listed, server, name) => ({
  name,
  server,
  rawName: listed.name,
  description: listed.description ?? "",
  ...pick(listed, ["title", "inputSchema", "outputSchema", "annotations"])
}))

/** For entries without a public name. */
const unnamed = <Listed extends object, Made>(make: (listed: Listed, server: string) => Made) => {
  const made = once(make)
  return (listed: Listed, server: string): Made => made(listed, server, "")
}

export const resource: (listed: ListedResource, server: string) => Resource = unnamed((listed, server) => ({
  server,
  ...pick(listed, ["uri", "name", "title", "description", "mimeType"])
}))

export const resourceTemplate: (listed: ListedResourceTemplate, server: string) => ResourceTemplate = unnamed(
  (listed, server) => ({ server, ...pick(listed, ["uriTemplate", "name", "title", "description", "mimeType"]) })
)

export const prompt: (listed: ListedPrompt, server: string) => Prompt = unnamed((listed, server) => ({
  server,
  ...pick(listed, ["name", "title", "description", "arguments"])
}))
