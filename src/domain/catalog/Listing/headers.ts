/**
 * Checks the `x-mcp-header` declarations of a tool (revision 2026-07-28), which name arguments that are also sent as HTTP headers.
 * A tool with an invalid declaration must not be offered.
 */
import * as Predicate from "effect/Predicate"
import { describeType, type Issue } from "../../Issue.js"

const keyword = "x-mcp-header"

/** The keywords that contain subschemas: `plain` is one or a list of them, `named` an object of them. */
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

/** Deeper schemas are rejected: later code may process them recursively without a limit. */
const maxDepth = 200

/** A token of RFC 9110. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** The first issue of an input schema. */
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

  /** Visits the elements of an array or the values of an object. */
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
  return issue === undefined ? undefined : { ...issue, path: untilUnsafe(issue.path) }
}

/** The issue of one declaration. `names` collects the header names in use. */
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

/** The path up to the first key that does not look like a name: the path is shown to people. */
const untilUnsafe = (path: Issue["path"]): Issue["path"] => {
  const unsafe = path.findIndex((step) => typeof step === "string" && !/^[\w.$*-]{1,64}$/.test(step))
  return unsafe === -1 ? path : path.slice(0, unsafe)
}
