/**
 * Describes in a few words what a schema expects.
 */
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../../domain/catalog/Protocol.js"

export const other = "something else"

export const typeWords: ReadonlyMap<unknown, string> = new Map([
  ["string", "a string"],
  ["number", "a number"],
  ["integer", "a whole number"],
  ["boolean", "a boolean"],
  ["array", "an array"],
  ["object", "an object"],
  ["null", "null"]
])

/** Limits of a description: alternatives named (equal texts count once), alternatives examined, keys named. */
const maxNamed = 20
const maxLooked = 30
const maxKeys = 5

/** A longer description is cut. */
const maxWords = 1_000

/** The deepest nesting of descriptions. */
const maxNested = 5

/** Describes in a few words what a schema expects. Returns `undefined` if the schema does not say it. */
export const describe = (schema: unknown, root: JsonSchema, depth = 0): string | undefined => {
  const words = describeAny(schema, root, depth)
  return words === undefined ? undefined : cut(words, maxWords)
}

const describeAny = (schema: unknown, root: JsonSchema, depth: number): string | undefined => {
  if (!Predicate.isRecord(schema) || depth > maxNested) return undefined
  const { anyOf, const: constant, enum: values, oneOf, type, $ref: ref } = schema
  if (constant !== undefined) return literal(constant)
  if (Array.isArray(values)) return `one of ${listed(values, literal, ", ")}`
  if (type === "object" || (type === undefined && Array.isArray(schema.required))) return describeObject(schema)
  if (type !== undefined) return listed([type].flat(), (type) => typeWords.get(type) ?? other, " or ")
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) {
    return listed(alternatives, (each) => describe(each, root, depth + 1) ?? other, ", or ")
  }
  return typeof ref === "string" ? describe(definition(ref, root), root, depth + 1) : undefined
}

/** Names the required keys, and the values of constant ones: they distinguish an object from its alternatives. */
const describeObject = ({ properties, required }: Readonly<Record<string, unknown>>): string => {
  if (!Array.isArray(required) || required.length === 0) return "an object"
  const words = (key: string) => {
    const property = Predicate.isRecord(properties) ? properties[key] : undefined
    const value = Predicate.isRecord(property) ? property.const : undefined
    return value === undefined ? literal(key) : `${literal(key)}: ${literal(value)}`
  }
  return `an object with ${listed(required, words, " and ", maxKeys)}`
}

export const definition = (ref: string, root: JsonSchema): unknown =>
  ref.startsWith("#")
    ? stepsOf(ref).reduce<unknown>((at, step) => (Predicate.isRecord(at) ? at[step] : undefined), root)
    : undefined

const listed = <A>(
  values: ReadonlyArray<A>,
  words: (value: A) => string,
  separator: string,
  most = maxNamed
): string => {
  const all = new Set<string>()
  for (const value of values.slice(0, maxLooked)) {
    all.add(words(value))
    if (all.size > most) break
  }
  const isMore = all.size > most || values.length > maxLooked
  return [...[...all].slice(0, most), ...(isMore ? ["…"] : [])].join(separator)
}

export const literal = (value: unknown): string => cut(JSON.stringify(value), 60)
export const quoted = (text: string): string => JSON.stringify(cut(text, 200))
export const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text)

/** Splits a JSON pointer into its unescaped steps. */
export const stepsOf = (pointer: string): ReadonlyArray<string> =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
