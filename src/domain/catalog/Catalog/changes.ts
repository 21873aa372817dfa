/**
 * Computes the differences between two catalogs.
 */
import type { ListKind } from "../Protocol.js"
import type { Catalog } from "./model.js"
import { sameItems } from "./retain.js"

/**
 * The differences in one list of one server. If nothing is added and nothing removed, the definition of an entry changed.
 *
 * @since 0.1.0
 * @category comparing
 */
export interface Change {
  readonly server: string
  readonly kind: ListKind
  /** Public names of tools, URIs and URI templates of resources, names of prompts. */
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

/**
 * All differences, except the order. Entries are compared by identity, which {@link merger} and {@link retain} preserve.
 *
 * @since 0.1.0
 * @category comparing
 */
export const changes = (before: Catalog, after: Catalog): ReadonlyArray<Change> =>
  kinds.flatMap(({ entries, kind }) => changesOf(kind, entries(before), entries(after)))

/**
 * Whether two catalogs differ only in their revision. A different order is a difference.
 *
 * @since 0.1.0
 * @category comparing
 */
export const same = (before: Catalog, after: Catalog): boolean =>
  sameItems(before.tools, after.tools) &&
  sameItems(before.resources, after.resources) &&
  sameItems(before.resourceTemplates, after.resourceTemplates) &&
  sameItems(before.prompts, after.prompts)

/** An entry of any kind, with its server and id. */
interface ListedItem {
  readonly server: string
  readonly id: string
  readonly item: object
}

const kinds: ReadonlyArray<{
  readonly kind: ListKind
  readonly entries: (catalog: Catalog) => ReadonlyArray<ListedItem>
}> = [
  { kind: "tools", entries: ({ tools }) => tools.map((item) => ({ server: item.server, id: item.name, item })) },
  {
    kind: "resources",
    entries: ({ resources, resourceTemplates }) => [
      ...resources.map((item) => ({ server: item.server, id: item.uri, item })),
      ...resourceTemplates.map((item) => ({ server: item.server, id: item.uriTemplate, item }))
    ]
  },
  { kind: "prompts", entries: ({ prompts }) => prompts.map((item) => ({ server: item.server, id: item.name, item })) }
]

/** The items by id. A resource and a template can have the same id. */
type Items = ReadonlyMap<string, ReadonlyArray<object>>

const none: Items = new Map()

const changesOf = (
  kind: ListKind,
  before: ReadonlyArray<ListedItem>,
  after: ReadonlyArray<ListedItem>
): ReadonlyArray<Change> => {
  const old = byServer(before)
  const now = byServer(after)
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((server) => {
    const change = changeBetween(old.get(server) ?? none, now.get(server) ?? none)
    return change === undefined ? [] : [{ server, kind, ...change }]
  })
}

const changeBetween = (before: Items, after: Items): Pick<Change, "added" | "removed"> | undefined => {
  const added = [...after.keys()].filter((id) => !before.has(id))
  const removed = [...before.keys()].filter((id) => !after.has(id))
  const redefined = () => [...after].some(([id, items]) => !sameItems(items, before.get(id)!))
  return added.length > 0 || removed.length > 0 || redefined() ? { added, removed } : undefined
}

const byServer = (entries: ReadonlyArray<ListedItem>): ReadonlyMap<string, Items> => {
  const servers = new Map<string, Map<string, Array<object>>>()
  for (const { id, item, server } of entries) {
    const items = servers.get(server) ?? new Map<string, Array<object>>()
    servers.set(server, items)
    const known = items.get(id)
    if (known === undefined) items.set(id, [item])
    else known.push(item)
  }
  return servers
}
