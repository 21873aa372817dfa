import * as Predicate from "effect/Predicate"
import { typeWords } from "./issueText.js"

/** Keywords that contain subschemas: one or a list of them (`plain`), or by name (`named`). */
const subschemas: ReadonlyMap<string, "plain" | "named"> = new Map([
  ...["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"].map(
    (key) => [key, "named"] as const
  ),
  ...["items", "prefixItems", "contains", "additionalItems", "additionalProperties"].map(
    (key) => [key, "plain"] as const
  ),
  ...["unevaluatedProperties", "unevaluatedItems", "propertyNames"].map((key) => [key, "plain"] as const),
  ...["oneOf", "anyOf", "allOf", "not", "if", "then", "else"].map((key) => [key, "plain"] as const)
])

/** Returns a copy without common deviations from JSON Schema, so that they do not prevent the rest of the check. */
export const tolerant = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(tolerant)
  if (!Predicate.isRecord(schema)) return schema
  const copy = mapValues(schema, (value, key) => {
    const kind = subschemas.get(key)
    if (kind === undefined) return value
    // Some languages cannot distinguish an empty object from an empty array.
    if (kind === "named")
      return Predicate.isRecord(value) ? mapValues(value, tolerant) : isEmptyArray(value) ? {} : value
    return tolerant(value)
  })
  // The draft-04 name of `$id`.
  delete copy.id
  if ("type" in copy && ![copy.type].flat().every((type) => typeWords.has(type))) delete copy.type
  limit(copy, "minimum", "exclusiveMinimum")
  limit(copy, "maximum", "exclusiveMaximum")
  return nullable(copy)
}

const mapValues = (
  record: Readonly<Record<string, unknown>>,
  f: (value: unknown, key: string) => unknown
): Record<string, unknown> => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value, key)]))

const isEmptyArray = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Converts draft-04, where a boolean beside a limit makes it exclusive. */
const limit = (schema: Record<string, unknown>, inclusive: string, exclusive: string): void => {
  const flag = schema[exclusive]
  if (typeof flag !== "boolean") return
  delete schema[exclusive]
  if (!flag || schema[inclusive] === undefined) return
  schema[exclusive] = schema[inclusive]
  delete schema[inclusive]
}

/** Converts OpenAPI's `nullable`, which ajv supports only beside a type. */
const nullable = (schema: Record<string, unknown>): unknown => {
  if (!("nullable" in schema) || "type" in schema) return schema
  const { nullable, ...rest } = schema
  return nullable === true && Object.keys(rest).length > 0 ? { anyOf: [rest, { type: "null" }] } : rest
}
