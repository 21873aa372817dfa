/**
 * Values of a config with where each was written. Merging two of them keeps that for every value, and is associative: it makes
 * no difference in which order layers are brought together, only which is above which.
 */
import * as Predicate from "effect/Predicate"
import type { Issue } from "../domain/Issue.js"
import type { Layer } from "./Layer.js"

export type Path = Issue["path"]

/** Where a value was written. */
export interface Origin {
  readonly layer: Layer
  /** In the document, as it was written there. */
  readonly path: Path
  readonly offset?: number | undefined
}

export type Tree = Leaf | List | Branch

/** A text, number, boolean, null, or something that a config has no use for. */
export interface Leaf {
  readonly _tag: "Leaf"
  readonly value: unknown
  readonly origin: Origin
}

export interface List {
  readonly _tag: "List"
  readonly items: ReadonlyArray<Tree>
  readonly origin: Origin
}

export interface Branch {
  readonly _tag: "Branch"
  readonly fields: ReadonlyMap<string, Tree>
  /** Nothing of lower layers shines through: something that is no object was in between. */
  readonly sealed: boolean
  readonly origin: Origin
}

export const leaf = (value: unknown, origin: Origin): Leaf => ({ _tag: "Leaf", value, origin })

export const list = (items: ReadonlyArray<Tree>, origin: Origin): List => ({ _tag: "List", items, origin })

export const branch = (fields: ReadonlyMap<string, Tree>, origin: Origin, sealed = false): Branch => ({
  _tag: "Branch",
  fields,
  sealed,
  origin
})

export const isBranch = (tree: Tree | undefined): tree is Branch => tree?._tag === "Branch"

/**
 * The higher one wins; objects are merged key by key. A key that both have stands where the higher one has it: of patterns,
 * the last match wins.
 */
export const merge = (low: Tree | undefined, high: Tree | undefined): Tree | undefined => {
  if (low === undefined || high === undefined) return high ?? low
  if (high._tag !== "Branch" || high.sealed) return high
  if (low._tag !== "Branch") return branch(high.fields, high.origin, true)
  const fields = new Map(low.fields)
  for (const [key, value] of high.fields) {
    const merged = merge(low.fields.get(key), value)!
    fields.delete(key)
    fields.set(key, merged)
  }
  return branch(fields, high.origin, low.sealed)
}

/** The value alone. Keys that mean something else in an assignment are keys like all others. */
export const toPlain = (tree: Tree): unknown => {
  switch (tree._tag) {
    case "Leaf":
      return tree.value
    case "List":
      return tree.items.map(toPlain)
    case "Branch":
      return Object.fromEntries(Array.from(tree.fields, ([key, value]) => [key, toPlain(value)]))
  }
}

/** A value that was not written in a text. */
export const fromPlain = (value: unknown, layer: Layer, path: Path = []): Tree => {
  const origin = { layer, path }
  if (Array.isArray(value))
    return list(
      value.map((item, index) => fromPlain(item, layer, [...path, index])),
      origin
    )
  if (!isPlainObject(value)) return leaf(value, origin)
  const fields = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => [key, fromPlain(item, layer, [...path, key])] as const)
  return branch(new Map(fields), origin)
}

const isPlainObject = (value: unknown): value is object =>
  Predicate.isRecord(value) && [null, Object.prototype].includes(Object.getPrototypeOf(value))

/** The values within, each with the way to it. An object or array without content is a value itself. */
export function* leaves(tree: Tree, path: Path = []): Iterable<readonly [Path, Tree]> {
  if (tree._tag === "List" && tree.items.length > 0) {
    for (const [index, item] of tree.items.entries()) yield* leaves(item, [...path, index])
  } else if (tree._tag === "Branch" && tree.fields.size > 0) {
    for (const [key, value] of tree.fields) yield* leaves(value, [...path, key])
  } else yield [path, tree]
}

/** The value at a place, or the nearest around it, with what is left of the way. */
export const find = (tree: Tree, path: Path): { readonly tree: Tree; readonly rest: Path } => {
  const [step, ...rest] = path
  const next =
    step === undefined ? undefined : tree._tag === "Branch" ? tree.fields.get(String(step)) : itemOf(tree, step)
  return next === undefined ? { tree, rest: path } : find(next, rest)
}

const itemOf = (tree: Tree, step: string | number): Tree | undefined =>
  tree._tag === "List" && typeof step === "number" ? tree.items[step] : undefined

/** Another value for each leaf that is a text. */
export const mapTexts = (
  tree: Tree,
  change: (text: string, leaf: Leaf, path: Path) => unknown,
  path: Path = []
): Tree => {
  switch (tree._tag) {
    case "Leaf":
      return typeof tree.value === "string" ? { ...tree, value: change(tree.value, tree, path) } : tree
    case "List":
      return { ...tree, items: tree.items.map((item, index) => mapTexts(item, change, [...path, index])) }
    case "Branch":
      return {
        ...tree,
        fields: new Map(Array.from(tree.fields, ([key, value]) => [key, mapTexts(value, change, [...path, key])]))
      }
  }
}
