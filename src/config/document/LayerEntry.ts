/**
 * One server's entry in one layer, and how entries of several layers become one.
 */
import * as Tree from "./Tree.js"

export interface LayerEntry {
  readonly tree: Tree.Tree
  /** Which kinds of server lower layers may no longer describe: a URL over a command makes it another server. */
  readonly clears: ReadonlySet<Kind>
}

export type Kind = "local" | "remote"

const types: Readonly<Record<Kind, ReadonlyArray<unknown>>> = {
  local: ["local", "stdio"],
  remote: ["remote", "http", "streamable-http", "sse"]
}

/** Keys that only one kind of server has. */
export const ownKeys: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  local: ["command", "args", "environment", "env", "cwd", "inheritEnv"],
  remote: ["url", "headers", "oauth", "caFile"]
}

const kinds = ["local", "remote"] as const

export const kindOf = (tree: Tree.Tree): Kind | undefined => {
  if (!Tree.isBranch(tree)) return undefined
  const type = tree.fields.get("type")
  const named = kinds.find((kind) => type?._tag === "Leaf" && types[kind].includes(type.value))
  if (named !== undefined) return named
  const [local, remote] = [tree.fields.has("command"), tree.fields.has("url")]
  return local === remote ? undefined : local ? "local" : "remote"
}

export const make = (tree: Tree.Tree): LayerEntry => {
  const kind = kindOf(tree)
  return { tree, clears: new Set(kinds.filter((other) => kind !== undefined && other !== kind)) }
}

/** Key by key; what is of another kind of server is left out of the lower one. Associative. */
export const merge = (low: LayerEntry, high: LayerEntry): LayerEntry => {
  const tree = Tree.merge(without(low.tree, high.clears), high.tree)
  return { tree: tree ?? high.tree, clears: new Set([...low.clears, ...high.clears]) }
}

/** Who says what a server is without saying of which type says it anew. */
const without = (tree: Tree.Tree, cleared: ReadonlySet<Kind>): Tree.Tree => {
  if (!Tree.isBranch(tree) || cleared.size === 0) return tree
  const keys = new Set(["type", ...Array.from(cleared).flatMap((kind) => ownKeys[kind])])
  return { ...tree, fields: new Map(Array.from(tree.fields).filter(([key]) => !keys.has(key))) }
}

/** Whether it says what the server is, or only how it is to be treated. */
export const isDefinition = ({ tree }: LayerEntry): boolean =>
  !Tree.isBranch(tree) || ["command", "url", "type"].some((key) => tree.fields.has(key))
