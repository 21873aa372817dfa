/**
 * Values of a config with where each was written. Merging two of them keeps that for every value, and is associative: it makes
 * no difference in which order layers are brought together, only which is above which.
 */
import type { Issue } from "../../domain/Issue.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"

export type Path = Issue["path"]

/** Where a value was written. */
export interface Origin {
  readonly layer: ConfigLayer
  /** What it is part of; absent for the whole document. */
  readonly up: Origin | undefined
  /** The last step of the way to it. */
  readonly step: string | number | undefined
  /** Where in the text, or how to find out: most are never asked. */
  readonly offset: number | ((path: Path) => number | undefined) | undefined
}

export const origin = (
  layer: ConfigLayer,
  up?: Origin | undefined,
  step?: string | number | undefined,
  offset?: Origin["offset"]
): Origin => ({ layer, up, step, offset })

/** The way to a value in its document, as it was written there. */
export const pathOf = ({ step, up }: Origin): Path =>
  up === undefined || step === undefined ? [] : [...pathOf(up), step]

export const offsetOf = (origin: Origin): number | undefined =>
  typeof origin.offset === "function" ? origin.offset(pathOf(origin)) : origin.offset

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

/** The values that a value is made of. */
export const childrenOf = (tree: Tree): ReadonlyArray<Tree> =>
  tree._tag === "Leaf" ? [] : tree._tag === "List" ? tree.items : [...tree.fields.values()]

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
    case "Branch": {
      const plain: Record<string, unknown> = {}
      for (const [key, value] of tree.fields) {
        if (key !== "__proto__") plain[key] = toPlain(value)
        else Object.defineProperty(plain, key, { ...ordinary, value: toPlain(value) })
      }
      return plain
    }
  }
}

const ordinary = { configurable: true, enumerable: true, writable: true }

/** Values that somebody else has read, or that were never written. */
export const fromPlain = (
  value: unknown,
  layer: ConfigLayer,
  offset?: Origin["offset"],
  up?: Origin,
  step?: string | number
): Tree => {
  const at = origin(layer, up, step, offset)
  if (typeof value !== "object" || value === null) return leaf(value, at)
  if (Array.isArray(value)) {
    return list(
      value.map((item, index) => fromPlain(item, layer, offset, at, index)),
      at
    )
  }
  if (!isPlainObject(value)) return leaf(value, at)
  const fields = new Map<string, Tree>()
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item !== undefined) fields.set(key, fromPlain(item, layer, offset, at, key))
  }
  return branch(fields, at)
}

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

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

/** Another value for each leaf that is a text. What stays the same is the same. */
export const mapTexts = (tree: Tree, change: (text: string, leaf: Leaf) => unknown): Tree => {
  switch (tree._tag) {
    case "Leaf": {
      if (typeof tree.value !== "string") return tree
      const value = change(tree.value, tree)
      return value === tree.value ? tree : { ...tree, value }
    }
    case "List": {
      const items = tree.items.map((item) => mapTexts(item, change))
      return items.every((item, index) => item === tree.items[index]) ? tree : { ...tree, items }
    }
    case "Branch": {
      let fields: Map<string, Tree> | undefined
      for (const [key, value] of tree.fields) {
        const changed = mapTexts(value, change)
        if (changed !== value) (fields ??= new Map(tree.fields)).set(key, changed)
      }
      return fields === undefined ? tree : { ...tree, fields }
    }
  }
}

/** Looks at each leaf that is a text. */
export const forEachText = (tree: Tree, look: (text: string, leaf: Leaf) => void): void => {
  if (tree._tag === "Leaf") {
    if (typeof tree.value === "string") look(tree.value, tree)
  } else for (const part of tree._tag === "List" ? tree.items : tree.fields.values()) forEachText(part, look)
}
