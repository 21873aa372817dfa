/**
 * Converts the errors of a validator to issues, which never contain a value of the arguments.
 */
import * as Predicate from "effect/Predicate"
import { defined } from "../../../domain/internal/defined.js"
import { describeType, type Issue } from "../../../domain/Issue.js"
import { makeWork, nearest } from "../../../domain/internal/nearest.js"
import type { JsonSchema } from "../../../domain/catalog/Protocol.js"
import { type Error, withoutNoise } from "./noise.js"
import { cut, describe, other, quoted, stepsOf } from "./issueText.js"

const maxIssues = 20

/** Only so many errors are processed; a validator may report thousands. */
const maxErrors = 1_000

export const issuesOf = (errors: ReadonlyArray<Error>, args: unknown, root: JsonSchema): ReadonlyArray<Issue> => {
  const issues = new Map<string, Issue>()
  const guess = makeGuess()
  for (const error of withoutNoise(errors.slice(0, maxErrors))) {
    const issue = issueOf(error, args, root, guess)
    // A key with the value `undefined` is not sent.
    if (issue.found !== describeType(undefined) || missing.has(error.keyword)) issues.set(JSON.stringify(issue), issue)
    if (issues.size === maxIssues) break
  }
  return [...issues.values()]
}

type Guess = (key: string, properties: Readonly<Record<string, unknown>>) => string | undefined

/** All hints of one result share a budget of work. The keys of an object are listed once. */
const makeGuess = (): Guess => {
  const keys = new Map<object, ReadonlyArray<string>>()
  const work = makeWork()
  return (key, properties) => {
    const known = keys.get(properties) ?? Object.keys(properties)
    keys.set(properties, known)
    return nearest(key, known, work)
  }
}

/** Keywords whose error names a missing property. */
const missing = new Set(["required", "dependentRequired", "dependencies"])

const issueOf = (error: Error, args: unknown, root: JsonSchema, nearestOf: Guess): Issue => {
  const { data, keyword, params, parentSchema = {} } = error
  const path = pathOf(error.instancePath, args)
  const properties = Predicate.isRecord(parentSchema.properties) ? parentSchema.properties : {}
  const key = String(
    params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName
  )
  if (missing.has(keyword)) {
    return {
      path: [...path, key],
      expected: describe(properties[key], root) ?? "a value",
      found: describeType(undefined)
    }
  }
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const guess = nearestOf(key, properties)
    const hint = guess === undefined ? undefined : `did you mean ${quoted(guess)}?`
    const found = describeType((data as Record<string, unknown>)[key])
    return { path: [...path, key], expected: "no such key", found, ...defined({ hint }) }
  }
  if (keyword === "propertyNames")
    return { path: [...path, key], expected: "another key", found: "one that is not allowed" }
  return { path, expected: expectation(error, root), found: describeType(data) }
}

const pathOf = (pointer: string, args: unknown): Issue["path"] => {
  let value = args
  return stepsOf(pointer).map((step) => {
    const within = value
    value = (within as Record<string, unknown>)[step]
    return Array.isArray(within) ? Number(step) : step
  })
}

const atLeast = (count: unknown, noun: string) => `at least ${count} ${noun}${count === 1 ? "" : "s"}`
const atMost = (count: unknown, noun: string) => `at most ${count} ${noun}${count === 1 ? "" : "s"}`

const expectation = ({ keyword, params, parentSchema, schema }: Error, root: JsonSchema): string => {
  switch (keyword) {
    case "minLength":
      return atLeast(params.limit, "character")
    case "maxLength":
      return atMost(params.limit, "character")
    case "minItems":
      return atLeast(params.limit, "item")
    case "maxItems":
    case "items":
    case "additionalItems":
      return atMost(params.limit, "item")
    case "unevaluatedItems":
      return atMost(params.len ?? params.limit, "item")
    case "minProperties":
      return atLeast(params.limit, "key")
    case "maxProperties":
      return atMost(params.limit, "key")
    case "minimum":
      return `a number of at least ${params.limit}`
    case "maximum":
      return `a number of at most ${params.limit}`
    case "exclusiveMinimum":
      return `a number above ${params.limit}`
    case "exclusiveMaximum":
      return `a number below ${params.limit}`
    case "multipleOf":
      return `a multiple of ${params.multipleOf}`
    case "pattern":
      return `a string that matches ${cut(String(params.pattern), 100)}`
    case "uniqueItems":
      return "items that are all different"
    case "contains":
      return `${atLeast(params.minContains, "item")} of a certain kind`
    case "oneOf":
      return Array.isArray(params.passingSchemas)
        ? "only one of the alternatives"
        : (describe({ oneOf: schema }, root) ?? other)
    case "anyOf":
      return describe({ anyOf: schema }, root) ?? other
    case "false schema":
      return "nothing"
    default:
      return describe({ [keyword]: parentSchema?.[keyword] }, root) ?? other
  }
}
