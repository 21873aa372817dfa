/**
 * Writes values with the same meaning as the same text.
 */
import * as Predicate from "effect/Predicate"
import * as Secrets from "../domain/Secrets.js"

/**
 * Returns the text of a value, independent of the order of keys. Redacted texts are revealed, so use it only as input of a
 * keyed hash. Keys whose value is `undefined` are left out.
 */
export const canonicalJson = (value: unknown): string => JSON.stringify(canonical(value))

const canonical = (value: unknown): unknown => {
  if (Secrets.isText(value)) return Secrets.reveal(value)
  if (Array.isArray(value)) return value.map(canonical)
  if (!Predicate.isRecord(value)) return typeof value === "bigint" ? String(value) : value
  const entries = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .toSorted()
    .map((key) => [key, canonical(value[key])])
  // The first item distinguishes an object from an array of pairs.
  return ["object", ...entries]
}
