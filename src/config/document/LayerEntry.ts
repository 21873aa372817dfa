/**
 * Defines one server's entry in one layer, determines its kind, and merges the entries of several layers.
 */
import { type ServerKind, kindOfType } from "../../domain/server/ServerConfig/serverTypes.js"
import { ownKeys } from "./keyFacts.js"
import * as Tree from "./Tree.js"

export interface LayerEntry {
  readonly tree: Tree.Tree
  /** The kinds of server whose keys are dropped from lower layers: a URL above a command makes it another server. */
  readonly clears: ReadonlySet<ServerKind>
}

const kinds = ["local", "remote"] as const

export const kindOf = (tree: Tree.Tree): ServerKind | undefined => {
  if (!Tree.isBranch(tree)) return undefined
  const type = tree.fields.get("type")
  const named = type?._tag === "Leaf" ? kindOfType(type.value) : undefined
  if (named !== undefined) return named
  const [local, remote] = [tree.fields.has("command"), tree.fields.has("url")]
  return local === remote ? undefined : local ? "local" : "remote"
}

export const make = (tree: Tree.Tree): LayerEntry => {
  const kind = kindOf(tree)
  return { tree, clears: new Set(kinds.filter((other) => kind !== undefined && other !== kind)) }
}

/** Merges key by key. Keys of another kind of server are dropped from the lower entry. Associative. */
export const merge = (low: LayerEntry, high: LayerEntry): LayerEntry => {
  const tree = Tree.merge(without(low.tree, high.clears), high.tree)
  return { tree: tree ?? high.tree, clears: new Set([...low.clears, ...high.clears]) }
}

/** Removes the keys of other kinds, and `type`: setting `command` or `url` without `type` resets the type. */
const without = (tree: Tree.Tree, cleared: ReadonlySet<ServerKind>): Tree.Tree => {
  if (!Tree.isBranch(tree) || cleared.size === 0) return tree
  const keys = new Set(["type", ...Array.from(cleared).flatMap((kind) => ownKeys[kind])])
  return { ...tree, fields: new Map(Array.from(tree.fields).filter(([key]) => !keys.has(key))) }
}

/** The keys that define a server. Any other key only says how it is treated. */
export const definingKeys: ReadonlyArray<string> = ["command", "url", "type"]

/** Whether the entry defines the server, rather than only how it is treated. */
export const isDefinition = ({ tree }: LayerEntry): boolean =>
  !Tree.isBranch(tree) || definingKeys.some((key) => tree.fields.has(key))
