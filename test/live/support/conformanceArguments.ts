/** Arguments for the tools of the conformance suite. */
import { Predicate } from "effect"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"

/** Something that a schema allows, for the simple schemas the scenarios have. */
const sampleOf = (schema: unknown): unknown => {
  if (!Predicate.isRecord(schema)) return "text"
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  switch (schema.type) {
    case "object":
      return argumentsFor(schema)
    case "array":
      return []
    case "integer":
    case "number":
      return 1
    case "boolean":
      return true
    case "null":
      return null
    default:
      return "text"
  }
}

export const argumentsFor = (schema: Protocol.JsonSchema): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(Predicate.isRecord(schema.properties) ? schema.properties : {}).map(([name, property]) => [
      name,
      sampleOf(property)
    ])
  )
