/**
 * An upper bound for the work of a check, from the size of the schema and the size of the arguments. A check whose bound is
 * low runs as it is; every other one runs under the watchdog.
 */
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../../domain/catalog/Protocol.js"
import { definition } from "./issueText.js"

/** What a schema costs. All numbers are upper bounds; `Infinity` where there is none. */
export interface Weight {
  /**
   * Schemas, also those that are true or false, and values that arguments are compared with, after each reference is replaced
   * by what it refers to. Long texts and keys count as several.
   */
  readonly parts: number
  /** How many of them are patterns. A pattern that may go back more than once has no bound. */
  readonly patterns: number
  /** Whether items are compared with each other. */
  readonly comparesItems: boolean
}

/** Beyond this it makes no difference. */
const maxParts = 100_000

/**
 * Weighs a schema. References are followed and counted as often as they are used, so that a check applies at most `parts`
 * schemas to one value. A schema that comes back to itself, or whose references cannot be followed simply, has no bound.
 */
export const weigh = (root: JsonSchema): Weight => {
  const known = new Map<object, Weight>()
  const open = new Set<object>()

  const weighValue = (value: unknown, isTop = false): Weight => {
    if (typeof value === "string") return { ...nothing, parts: value.length >> lengthShift }
    if (typeof value === "boolean") return onePart
    if (typeof value !== "object" || value === null) return nothing
    const before = known.get(value)
    if (before !== undefined) return before
    if (open.has(value) || open.size > maxOpen) return unbounded
    open.add(value)
    const weight = Array.isArray(value) ? weighList(value) : weighRecord(value as Record<string, unknown>, isTop)
    open.delete(value)
    known.set(value, weight)
    return weight
  }

  const weighList = (values: ReadonlyArray<unknown>): Weight =>
    values.reduce<Weight>((sum, each) => add(sum, weighValue(each)), { ...nothing, parts: 1 + values.length })

  const weighRecord = (record: Readonly<Record<string, unknown>>, isTop: boolean): Weight => {
    if (isOpaque(record, isTop)) return unbounded
    let sum: Weight = { ...nothing, parts: 1, comparesItems: record.uniqueItems === true }
    for (const pattern of patternsOf(record)) sum = add(sum, isSimple(pattern) ? onePattern : unbounded)
    for (const [key, value] of Object.entries(record)) {
      sum = add(add(sum, weighValue(key)), weighValue(value))
      if (sum.parts > maxParts) return unbounded
    }
    if (typeof record.$ref !== "string") return sum
    const target = definition(record.$ref, root)
    return target === undefined ? unbounded : add(sum, weighValue(target))
  }

  return weighValue(root, true)
}

const nothing: Weight = { parts: 0, patterns: 0, comparesItems: false }
/** What is true or false may be a schema, too. */
const onePart: Weight = { parts: 1, patterns: 0, comparesItems: false }
const onePattern: Weight = { parts: 1, patterns: 1, comparesItems: false }
const unbounded: Weight = { parts: Number.POSITIVE_INFINITY, patterns: 0, comparesItems: false }

/** Schemas within schemas, also by reference, that the stack certainly has room for. */
const maxOpen = 1_000

const patternsOf = ({ pattern, patternProperties }: Readonly<Record<string, unknown>>): ReadonlyArray<string> => [
  ...(typeof pattern === "string" ? [pattern] : []),
  ...(Predicate.isRecord(patternProperties) ? Object.keys(patternProperties) : [])
]

/** Longer patterns are not looked at: reading one can take longer than the check. */
const maxPatternLength = 200

/** No group is repeated or refers back, and there is at most one place where something else could be tried. */
const isSimple = (pattern: string): boolean => {
  if (pattern.length > maxPatternLength) return false
  const bare = pattern.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/g, "x").replace(/([^)])\{\d+\}/g, "$1")
  const count = (sign: RegExp) => bare.match(sign)?.length ?? 0
  const alternatives = bare.includes("|") ? Math.max(1, count(/\(/g)) : 0
  return !/\)[*+?{]|\\[1-9k]|\(\?/.test(bare) && count(/[*+?{]/g) + alternatives <= 1
}

/** Comparing this many characters (a power of 2) takes about as long as applying a schema. */
const lengthShift = 6

const add = (a: Weight, b: Weight): Weight => ({
  parts: a.parts + b.parts,
  patterns: a.patterns + b.patterns,
  comparesItems: a.comparesItems || b.comparesItems
})

/** Names that change what a reference means: below the root they could make it mean another schema than the one weighed. */
const isOpaque = (record: Readonly<Record<string, unknown>>, isTop: boolean): boolean =>
  ["$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"].some((key) => typeof record[key] === "string") ||
  (!isTop && (typeof record.$id === "string" || typeof record.id === "string"))

/** How large arguments are. */
export interface Size {
  /** Values and keys. */
  readonly values: number
  /** Characters of all texts and keys. */
  readonly characters: number
}

/** Measures arguments, but not beyond so many values: then it is `undefined`. */
export const measure = (args: unknown, most: number): Size | undefined => {
  const size = { values: 0, characters: 0 }
  return isWithin(args, most, size) ? size : undefined
}

const isWithin = (value: unknown, most: number, size: { values: number; characters: number }): boolean => {
  size.values += 1
  if (size.values > most) return false
  if (typeof value === "string") {
    size.characters += value.length
    return true
  }
  if (typeof value !== "object" || value === null) return true
  if (Array.isArray(value)) return value.every((each) => isWithin(each, most, size))
  for (const key in value) {
    size.characters += key.length
    if (!isWithin((value as Readonly<Record<string, unknown>>)[key], most, size)) return false
  }
  return true
}

/** Schemas that may be applied to values without the watchdog: each may report an issue, and issues are compared in pairs. */
const maxApplied = 5_000
/** Steps of 50 ns or so. */
const maxSteps = 100_000
/** Steps of patterns, of 1 ns or so. */
const maxPatternSteps = 5_000_000
/** No check of more values than this runs without the watchdog. */
const maxValues = 1_000

/**
 * Whether a check takes some milliseconds at most. Every value is checked by at most `parts` schemas. Comparing all items
 * with each other takes at most the square of the size of the arguments, as does a simple pattern.
 */
export const isCheap = ({ comparesItems, parts, patterns }: Weight, args: unknown): boolean => {
  const size = measure(args, Math.min(maxValues, maxApplied / parts))
  if (size === undefined) return false
  const steps = size.values + (size.characters >> lengthShift)
  return parts * (comparesItems ? steps ** 2 : steps) <= maxSteps && patterns * size.characters ** 2 <= maxPatternSteps
}
