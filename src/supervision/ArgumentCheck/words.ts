/**
 * What a schema wants, in a few words.
 */
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../domain/Protocol.js"

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

/** What a schema wants, in a few words. Nothing where it does not say. */
export const describe = (schema: unknown, root: JsonSchema, depth = 0): string | undefined => {
  if (!Predicate.isRecord(schema) || depth > 5) return undefined
  const { anyOf, const: constant, enum: values, oneOf, type, $ref: ref } = schema
  if (constant !== undefined) return literal(constant)
  if (Array.isArray(values)) return `one of ${listed(values.map(literal), ", ")}`
  if (type === "object" || (type === undefined && Array.isArray(schema.required))) return describeObject(schema)
  if (type !== undefined)
    return listed(
      [type].flat().map((type) => typeWords.get(type) ?? other),
      " or "
    )
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) {
    return listed(
      alternatives.map((each) => describe(each, root, depth + 1) ?? other),
      ", or "
    )
  }
  return typeof ref === "string" ? describe(definition(ref, root), root, depth + 1) : undefined
}

/** The keys that it has to have, and the values of those that tell it from others. */
const describeObject = ({ properties, required }: Readonly<Record<string, unknown>>): string => {
  if (!Array.isArray(required) || required.length === 0) return "an object"
  const keys = required.map((key) => {
    const property = Predicate.isRecord(properties) ? properties[key] : undefined
    const value = Predicate.isRecord(property) ? property.const : undefined
    return value === undefined ? literal(key) : `${literal(key)}: ${literal(value)}`
  })
  return `an object with ${listed(keys, " and ", 5)}`
}

export const definition = (ref: string, root: JsonSchema): unknown =>
  ref.startsWith("#")
    ? stepsOf(ref).reduce<unknown>((at, step) => (Predicate.isRecord(at) ? at[step] : undefined), root)
    : undefined

export const listed = (texts: ReadonlyArray<string>, separator: string, most = 20): string => {
  const all = [...new Set(texts)]
  return [...all.slice(0, most), ...(all.length > most ? ["…"] : [])].join(separator)
}

export const literal = (value: unknown): string => cut(JSON.stringify(value), 60)
export const quoted = (text: string): string => JSON.stringify(cut(text, 200))
export const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text)

/** A JSON pointer, step by step. */
export const stepsOf = (pointer: string): ReadonlyArray<string> =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
