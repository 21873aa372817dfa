/**
 * Copies an entry as plain data, and rejects other objects. A schema would read a `Map`, a `Date` or a `Headers` object as an
 * empty object and lose its content.
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { describeType, type Issue } from "../../Issue.js"
import { isText } from "../../Secrets.js"

/** The greatest depth. No valid entry is deeper; a circular object is. */
const maxDepth = 8

/** The greatest number of issues. Without it, the copy of an object with many circular references would never end. */
const maxIssues = 20

/** Returns a copy without inherited keys, or the places that cannot be copied. */
export const plain = (input: unknown): Either.Either<unknown, ReadonlyArray<Issue>> => {
  const issues: Array<Issue> = []
  const reject = (path: Issue["path"], found: string) => {
    issues.push({ path, expected: "plain data: objects, arrays, strings, numbers and booleans", found })
  }
  const copy = (value: unknown, path: Issue["path"]): unknown => {
    if (typeof value !== "object" || value === null || isText(value)) return value
    if (issues.length >= maxIssues) return undefined
    if (path.length > maxDepth) return reject(path.slice(0, 1), "something nested too deep")
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]))
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) return reject(path, kindOf(value))
    if (Object.hasOwn(value, "__proto__")) return reject(path, 'a key "__proto__"')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item, [...path, key])]))
  }
  try {
    const copied = copy(input, [])
    return issues.length === 0 ? Either.right(copied) : Either.left(issues)
  } catch {
    // the error of a getter or a proxy is not shown: it can contain the value
    return Either.left([{ path: [], expected: "plain data", found: "an object that cannot be read" }])
  }
}

/** Describes an object that is not plain data: as redacted, or by its class. */
const kindOf = (value: object): string =>
  Redacted.isRedacted(value) ? describeType(value) : `an object of class ${value.constructor.name}`
