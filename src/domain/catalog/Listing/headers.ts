/**
 * Checks the `x-mcp-header` declarations of a tool (revision 2026-07-28): arguments sent as HTTP headers, too. A tool that
 * breaks the rules must not be offered.
 */
import * as Predicate from "effect/Predicate"
import { describeType, type Issue } from "../../Issue.js"

const keyword = "x-mcp-header"

/** Where schemas stand within a schema: one or a list of them, or under names. */
const subschemas: ReadonlyMap<string, "plain" | "named"> = new Map([
  ["properties", "named"],
  ["patternProperties", "named"],
  ["dependentSchemas", "named"],
  ["$defs", "named"],
  ["definitions", "named"],
  ["items", "plain"],
  ["prefixItems", "plain"],
  ["contains", "plain"],
  ["additionalProperties", "plain"],
  ["unevaluatedProperties", "plain"],
  ["unevaluatedItems", "plain"],
  ["propertyNames", "plain"],
  ["oneOf", "plain"],
  ["anyOf", "plain"],
  ["allOf", "plain"],
  ["not", "plain"],
  ["if", "plain"],
  ["then", "plain"],
  ["else", "plain"]
])

/** Deeper schemas are rejected: later consumers may walk them recursively without a limit. */
const maxDepth = 200

/** What a token of RFC 9110 consists of. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** The first rule that an input schema breaks. */
export const headerIssue = (inputSchema: unknown): Issue | undefined => {
  const names = new Set<string>()
  const path: Array<string | number> = ["inputSchema"]

  const visit = (schema: unknown, reachable: boolean, depth: number): Issue | undefined => {
    if (!Predicate.isRecord(schema)) return undefined
    if (depth > maxDepth) {
      return { path: ["inputSchema"], expected: `a schema of at most ${maxDepth} levels`, found: "a deeper one" }
    }
    if (Object.hasOwn(schema, keyword)) {
      const issue = declarationIssue(schema, reachable && depth > 0, path, names)
      if (issue !== undefined) return issue
    }
    for (const key of Object.keys(schema)) {
      const kind = subschemas.get(key)
      const value = schema[key]
      if (kind === undefined) continue
      const below = reachable && key === "properties"
      path.push(key)
      const issue =
        kind === "plain" && !Array.isArray(value) ? visit(value, below, depth + 1) : visitEach(value, below, depth + 1)
      if (issue !== undefined) return issue
      path.pop()
    }
    return undefined
  }

  /** The elements of an array, or what stands under the names of an object. */
  const visitEach = (schemas: unknown, reachable: boolean, depth: number): Issue | undefined => {
    if (!Predicate.isObject(schemas)) return undefined
    for (const [name, schema] of Object.entries(schemas)) {
      path.push(Array.isArray(schemas) ? Number(name) : name)
      const issue = visit(schema, reachable, depth)
      if (issue !== undefined) return issue
      path.pop()
    }
    return undefined
  }

  const issue = visit(inputSchema, true, 0)
  return issue === undefined ? undefined : { ...issue, path: untilOdd(issue.path) }
}

/** What is wrong with one declaration. The names in use are kept from one to the next. */
const declarationIssue = (
  schema: Readonly<Record<string, unknown>>,
  reachable: boolean,
  path: Issue["path"],
  names: Set<string>
): Issue | undefined => {
  const { [keyword]: name, type } = schema
  const here = { path: [...path, keyword], found: describeType(name) }
  if (!reachable) {
    return { ...here, expected: "nothing", hint: "only a property of the arguments can be sent as a header" }
  }
  if (typeof name !== "string" || !token.test(name)) return { ...here, expected: "the name of a header" }
  if (type !== "string" && type !== "integer" && type !== "boolean") {
    return { path: [...path, "type"], expected: '"string", "integer" or "boolean"', found: describeType(type) }
  }
  if (names.has(name.toLowerCase())) {
    return { ...here, expected: "a header of its own", found: "one that another property has, but for its case" }
  }
  names.add(name.toLowerCase())
  return undefined
}

/** A path that ends before the first name somebody chose that does not look like one: it is going to be shown. */
const untilOdd = (path: Issue["path"]): Issue["path"] => {
  const odd = path.findIndex((step) => typeof step === "string" && !/^[\w.$*-]{1,64}$/.test(step))
  return odd === -1 ? path : path.slice(0, odd)
}
