/**
 * Computes an upper bound for the cost of a check from the sizes of schema and arguments. A check with a low bound runs
 * directly; every other one runs under the watchdog.
 */
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../../domain/catalog/Protocol.js"
import { definition } from "./issueText.js"

/** The cost of a schema. All numbers are upper bounds; `Infinity` if there is none. */
export interface Weight {
  /**
   * Number of schemas (including boolean ones) and of values that arguments are compared with, after each reference is
   * replaced by its target. Long texts and keys count as several.
   */
  readonly parts: number
  /** How many of the parts are patterns. A pattern that may backtrack more than once has no bound. */
  readonly patterns: number
  /** Whether items are compared with each other (`uniqueItems`). */
  readonly comparesItems: boolean
}

/** A schema with more parts counts as unbounded. */
const maxParts = 100_000

/**
 * Computes the cost of a schema. References are followed and counted as often as they are used, so that a check applies
 * at most `parts` schemas to one value. A schema that refers to itself, or whose references cannot be resolved by path,
 * has no bound.
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
/** A boolean may be a schema, too. */
const onePart: Weight = { parts: 1, patterns: 0, comparesItems: false }
const onePattern: Weight = { parts: 1, patterns: 1, comparesItems: false }
const unbounded: Weight = { parts: Number.POSITIVE_INFINITY, patterns: 0, comparesItems: false }

/** The deepest nesting, including references, for which the stack certainly suffices. */
const maxOpen = 1_000

const patternsOf = ({ pattern, patternProperties }: Readonly<Record<string, unknown>>): ReadonlyArray<string> => [
  ...(typeof pattern === "string" ? [pattern] : []),
  ...(Predicate.isRecord(patternProperties) ? Object.keys(patternProperties) : [])
]

/** Longer patterns are not analysed: the analysis can take longer than the check. */
const maxPatternLength = 200

/** Whether a pattern repeats no group, has no back reference, and can backtrack at one place at most. */
const isSimple = (pattern: string): boolean => {
  if (pattern.length > maxPatternLength) return false
  const bare = pattern.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/g, "x").replace(/([^)])\{\d+\}/g, "$1")
  const count = (sign: RegExp) => bare.match(sign)?.length ?? 0
  const alternatives = bare.includes("|") ? Math.max(1, count(/\(/g)) : 0
  return !/\)[*+?{]|\\[1-9k]|\(\?/.test(bare) && count(/[*+?{]/g) + alternatives <= 1
}

/** Comparing 2 to this power characters takes about as long as applying a schema. */
const lengthShift = 6

const add = (a: Weight, b: Weight): Weight => ({
  parts: a.parts + b.parts,
  patterns: a.patterns + b.patterns,
  comparesItems: a.comparesItems || b.comparesItems
})

/**
 * Whether keywords change the meaning of references: below the root, a reference could then resolve to another schema
 * than the one counted.
 */
const isOpaque = (record: Readonly<Record<string, unknown>>, isTop: boolean): boolean =>
  ["$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"].some((key) => typeof record[key] === "string") ||
  (!isTop && (typeof record.$id === "string" || typeof record.id === "string"))

/** The size of arguments. */
export interface Size {
  /** Number of values and keys. */
  readonly values: number
  /** Number of characters of all texts and keys. */
  readonly characters: number
}

/** Measures arguments. Returns `undefined` if they have more than `most` values. */
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

/** Schema applications allowed without the watchdog: each may report an issue, and issues are compared in pairs. */
const maxApplied = 5_000
/** Steps of about 50 ns. */
const maxSteps = 100_000
/** Steps of patterns, of about 1 ns. */
const maxPatternSteps = 5_000_000
/** More values are always checked under the watchdog. */
const maxValues = 1_000

/**
 * Whether a check takes a few milliseconds at most. Every value is checked by at most `parts` schemas. Comparing all
 * items with each other takes at most the square of the size of the arguments, as does a simple pattern.
 */
export const isCheap = ({ comparesItems, parts, patterns }: Weight, args: unknown): boolean => {
  const size = measure(args, Math.min(maxValues, maxApplied / parts))
  if (size === undefined) return false
  const steps = size.values + (size.characters >> lengthShift)
  return parts * (comparesItems ? steps ** 2 : steps) <= maxSteps && patterns * size.characters ** 2 <= maxPatternSteps
}
