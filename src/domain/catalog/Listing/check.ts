/**
 * Checks of JSON values that keep the valid parts and report the others. Valid values are not copied.
 */
import * as Predicate from "effect/Predicate"
import { describeType, type Issue } from "../../Issue.js"

/** Receives each issue, with its path from the checked value. */
export type ReportIssue = (issue: Issue) => void

/** Returns the value, a copy without its invalid parts, or undefined if nothing is valid. */
export type Check = (value: unknown, report: ReportIssue) => unknown

/** The checks for some keys of an object. Other keys are not checked. */
export type Checks = ReadonlyArray<readonly [key: string, check: Check]>

type Json = Readonly<Record<string, unknown>>

/** Reports a value of a wrong type and returns undefined. */
export const wrong = (report: ReportIssue, expected: string, value: unknown): undefined =>
  void report({ path: [], expected, found: describeType(value) })

/** Prefixes the path of each issue. Most values have no issue, so no path is built before. */
const under =
  (step: string | number, report: ReportIssue): ReportIssue =>
  (issue) =>
    report({ ...issue, path: [step, ...issue.path] })

const only =
  (expected: string, is: Predicate.Predicate<unknown>): Check =>
  (value, report) =>
    is(value) ? value : wrong(report, expected, value)

export const string: Check = only("a string", Predicate.isString)
export const number: Check = only("a number", Predicate.isNumber)
export const boolean: Check = only("a boolean", Predicate.isBoolean)
/** Any object. */
export const object: Check = only("an object", Predicate.isRecord)

/** Omits invalid elements. */
export const arrayOf =
  (element: Check): Check =>
  (value, report) => {
    if (!Array.isArray(value)) return wrong(report, "an array", value)
    const kept = value.map((each: unknown, index) => element(each, under(index, report)))
    return kept.every((each, index) => each === value[index]) ? value : kept.filter((each) => each !== undefined)
  }

export const struct =
  (required: Checks, optional: Checks): Check =>
  (value, report) => {
    if (!Predicate.isRecord(value)) return wrong(report, "an object", value)
    return isComplete(value, required, report) ? withoutWrong(value, optional, report) : undefined
  }

/** Whether all required keys are present and valid. */
export const isComplete = (value: Json, required: Checks, report: ReportIssue): boolean => {
  let complete = true
  for (const [key, check] of required) {
    check(value[key], (issue) => {
      complete = false
      under(key, report)(issue)
    })
  }
  return complete
}

/** The object without its invalid optional keys. Null counts as absent: some servers send it for missing values. */
export const withoutWrong = (value: Json, optional: Checks, report: ReportIssue): Json => {
  let copy: Record<string, unknown> | undefined
  for (const [key, check] of optional) {
    const found = value[key]
    if (found === undefined) continue
    const kept = found === null ? undefined : check(found, under(key, report))
    if (kept === found) continue
    copy ??= { ...value }
    if (kept === undefined) delete copy[key]
    else copy[key] = kept
  }
  return copy ?? value
}
