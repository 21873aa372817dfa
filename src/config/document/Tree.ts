/**
 * Config values with the place where each was written. A merge keeps the places and is associative: only the order of layers
 * matters, not the order in which they are merged.
 */
import type { Issue } from "../../domain/Issue.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"

export type Path = Issue["path"]

/** The place where a value was written. */
export interface ValueOrigin {
  readonly layer: ConfigLayer
  /** The value that contains it. Absent for the whole document. */
  readonly up: ValueOrigin | undefined
  /** The last step of its path. */
  readonly step: string | number | undefined
  /** The offset in the text, or a function that computes it: most offsets are never needed. */
  readonly offset: number | ((path: Path) => number | undefined) | undefined
}

export const origin = (
  layer: ConfigLayer,
  up?: ValueOrigin | undefined,
  step?: string | number | undefined,
  offset?: ValueOrigin["offset"]
): ValueOrigin => ({ layer, up, step, offset })

/** The path of a value in its document, as it is written there. */
export const pathOf = ({ step, up }: ValueOrigin): Path =>
  up === undefined || step === undefined ? [] : [...pathOf(up), step]

export const offsetOf = (origin: ValueOrigin): number | undefined =>
  typeof origin.offset === "function" ? origin.offset(pathOf(origin)) : origin.offset

export type Tree = Leaf | List | Branch

/** A text, number, boolean, null, or a value of a type that no config uses. */
export interface Leaf {
  readonly _tag: "Leaf"
  readonly value: unknown
  readonly origin: ValueOrigin
}

export interface List {
  readonly _tag: "List"
  readonly items: ReadonlyArray<Tree>
  readonly origin: ValueOrigin
}

export interface Branch {
  readonly _tag: "Branch"
  readonly fields: ReadonlyMap<string, Tree>
  /** Whether lower layers are hidden, because a value that is no object was in between. */
  readonly sealed: boolean
  readonly origin: ValueOrigin
}

/** The direct children of a value. */
export const childrenOf = (tree: Tree): ReadonlyArray<Tree> =>
  tree._tag === "Leaf" ? [] : tree._tag === "List" ? tree.items : [...tree.fields.values()]

export const leaf = (value: unknown, origin: ValueOrigin): Leaf => ({ _tag: "Leaf", value, origin })

export const list = (items: ReadonlyArray<Tree>, origin: ValueOrigin): List => ({ _tag: "List", items, origin })

export const branch = (fields: ReadonlyMap<string, Tree>, origin: ValueOrigin, sealed = false): Branch => ({
  _tag: "Branch",
  fields,
  sealed,
  origin
})

export const isBranch = (tree: Tree | undefined): tree is Branch => tree?._tag === "Branch"

/**
 * Merges two values: the higher one wins, objects are merged key by key. A key of both takes the position of the higher one,
 * because the last matching pattern wins.
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

/** Converts to a plain value. Keys with a special meaning in an assignment, such as `__proto__`, become ordinary keys. */
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

/** Converts a plain value that was parsed elsewhere, or that comes from no text. */
export const fromPlain = (
  value: unknown,
  layer: ConfigLayer,
  offset?: ValueOrigin["offset"],
  up?: ValueOrigin,
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

/** The leaves of a value, each with its path. An empty object or array is a leaf. */
export function* leaves(tree: Tree, path: Path = []): Iterable<readonly [Path, Tree]> {
  if (tree._tag === "List" && tree.items.length > 0) {
    for (const [index, item] of tree.items.entries()) yield* leaves(item, [...path, index])
  } else if (tree._tag === "Branch" && tree.fields.size > 0) {
    for (const [key, value] of tree.fields) yield* leaves(value, [...path, key])
  } else yield [path, tree]
}

/** The value at a path, or the nearest value that contains it, with the remaining path. */
export const find = (tree: Tree, path: Path): { readonly tree: Tree; readonly rest: Path } => {
  const [step, ...rest] = path
  const next =
    step === undefined ? undefined : tree._tag === "Branch" ? tree.fields.get(String(step)) : itemOf(tree, step)
  return next === undefined ? { tree, rest: path } : find(next, rest)
}

const itemOf = (tree: Tree, step: string | number): Tree | undefined =>
  tree._tag === "List" && typeof step === "number" ? tree.items[step] : undefined

/** Replaces each text. Values without a changed text keep their identity. */
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

/** Visits each text. */
export const forEachText = (tree: Tree, look: (text: string, leaf: Leaf) => void): void => {
  if (tree._tag === "Leaf") {
    if (typeof tree.value === "string") look(tree.value, tree)
  } else for (const part of tree._tag === "List" ? tree.items : tree.fields.values()) forEachText(part, look)
}
