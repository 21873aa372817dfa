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

/** On a busy machine a large schema may take too long: then it is not used. */
export const issuesIfUsable = (schema: JsonSchema, args: Args) => {
  const check = ArgumentCheck.forSchema(schema)
  const issues = check._tag === "Usable" ? check.issuesOf(args) : []
  return issues.length === 0 ? undefined : issues
}

/**
 * The issues of a check that a busy machine may abort, which then has none: it is tried again with an equivalent schema,
 * because a schema whose checks were aborted twice is not checked any more.
 */
export const issuesDespiteLoad = (schema: JsonSchema, args: Args) => {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const issues = issuesIfUsable({ ...schema, description: `attempt ${attempt}` }, args)
    if (issues !== undefined) return issues
  }
  return []
}

export const reasonOf = (schema: JsonSchema): string => {
  const check = ArgumentCheck.forSchema(schema)
  return check._tag === "Unusable" ? check.reason : assert.fail("the schema is usable")
}

export const of = (a: unknown): JsonSchema => ({ type: "object", properties: { a } })
