/**
 * Takes over what somebody handed in as plain data. A schema would read a `Map`, a `Date` or a `Headers` object as an empty object
 * and lose what is in it.
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { describeType, type Issue } from "../../Issue.js"
import { isText } from "../../Secrets.js"

/** No entry is nested deeper; something that refers to itself is. */
const maxDepth = 8

/** Nobody reads more, and something that refers to itself in many places would never end. */
const maxIssues = 20

/** A copy without inherited keys, or what cannot be copied. */
export const plain = (input: unknown): Either.Either<unknown, ReadonlyArray<Issue>> => {
  const issues: Array<Issue> = []
  const refuse = (path: Issue["path"], found: string) => {
    issues.push({ path, expected: "plain data: objects, arrays, strings, numbers and booleans", found })
  }
  const copy = (value: unknown, path: Issue["path"]): unknown => {
    if (typeof value !== "object" || value === null || isText(value)) return value
    if (issues.length >= maxIssues) return undefined
    if (path.length > maxDepth) return refuse(path.slice(0, 1), "something nested too deep")
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]))
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) return refuse(path, kindOf(value))
    if (Object.hasOwn(value, "__proto__")) return refuse(path, 'a key "__proto__"')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item, [...path, key])]))
  }
  try {
    const copied = copy(input, [])
    return issues.length === 0 ? Either.right(copied) : Either.left(issues)
  } catch {
    // what a getter or a proxy throws may hold what it was to give
    return Either.left([{ path: [], expected: "plain data", found: "an object that cannot be read" }])
  }
}

/** A redacted value says so itself; of other objects, the class says what somebody handed in. */
const kindOf = (value: object): string =>
  Redacted.isRedacted(value) ? describeType(value) : `an object of class ${value.constructor.name}`
