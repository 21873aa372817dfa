/** Checks arguments against a schema, and returns the issues or the reason why the schema is unusable. */
import { assert } from "@effect/vitest"
import type { JsonSchema } from "../../src/domain/catalog/Protocol.js"
import * as ArgumentCheck from "../../src/supervision/calls/ArgumentCheck.js"

export type Args = Readonly<Record<string, unknown>>

export const issuesOf = (schema: JsonSchema, args: Args) => {
  const check = ArgumentCheck.forSchema(schema)
  if (check._tag === "Unusable") return assert.fail(check.reason)
  return check.issuesOf(args)
}

/** On a busy machine the check of a large schema may take too long: then the schema is not used. */
export const issuesIfUsable = (schema: JsonSchema, args: Args) => {
  const check = ArgumentCheck.forSchema(schema)
  const issues = check._tag === "Usable" ? check.issuesOf(args) : []
  return issues.length === 0 ? undefined : issues
}

/** Schemas that differ in nothing but their description: what a busy machine made time out counts against one of them only. */
const variantsOf = (schema: JsonSchema): ReadonlyArray<JsonSchema> =>
  Array.from({ length: 50 }, (_, index) => ({ ...schema, description: `variant ${index}` }))

/** A variant of the schema whose compilation no busy machine made time out. */
export const compiled = (schema: JsonSchema): JsonSchema =>
  variantsOf(schema).find((each) => ArgumentCheck.forSchema(each)._tag === "Usable") ?? schema

/** The issues of the first check that no busy machine made time out; such a check has none. */
export const issuesDespiteLoad = (schema: JsonSchema, args: Args) => {
  for (const each of variantsOf(schema)) {
    const issues = issuesIfUsable(each, args)
    if (issues !== undefined) return issues
  }
  return []
}

export const reasonOf = (schema: JsonSchema): string => {
  const check = ArgumentCheck.forSchema(schema)
  return check._tag === "Unusable" ? check.reason : assert.fail("the schema is usable")
}

export const of = (a: unknown): JsonSchema => ({ type: "object", properties: { a } })
