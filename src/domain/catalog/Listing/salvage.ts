/**
 * Keeps the valid entries of a list and reports the others. The checks are plain code: thousands of entries take milliseconds,
 * and messages are created only for invalid ones.
 */
import * as Predicate from "effect/Predicate"
import type { Diagnostic } from "../../Diagnostic.js"
import { excerpt } from "../../internal/excerpt.js"
import { isDeeper, maxDepth } from "../../internal/isDeeper.js"
import { describeType, type Issue, render, renderAll } from "../../Issue.js"
import { type Checks, isComplete, withoutWrong } from "./check.js"

/** The rules for the entries of a list. */
export interface EntryRules {
  /** The word for one entry in messages. */
  readonly noun: string
  /** The required key that identifies an entry, a string. */
  readonly id: string
  /** An entry with an invalid value here is omitted. */
  readonly required: Checks
  /** An invalid value here is omitted from the entry. */
  readonly optional: Checks
  /** A final check, after which an entry is omitted. */
  readonly refusal?: {
    readonly code: string
    readonly issue: (entry: Readonly<Record<string, unknown>>) => Issue | undefined
  }
}

/** The maximum length of an id, such as a name or a URI. */
export const maxIdLength = 8_192

/** The maximum number of diagnostics. Further ones are only counted. */
export const maxDiagnostics = 100

export const salvage = (
  rules: EntryRules,
  entries: ReadonlyArray<unknown>
): { readonly items: ReadonlyArray<unknown>; readonly diagnostics: ReadonlyArray<Diagnostic> } => {
  const { id, noun, optional, refusal, required } = rules
  const suffix = noun.replaceAll(" ", "_")
  const items: Array<unknown> = []
  const taken = new Set<unknown>()
  const diagnostics: Array<Diagnostic> = []
  let unshown = 0

  const note = (diagnostic: () => Diagnostic) => {
    if (diagnostics.length < maxDiagnostics) diagnostics.push(diagnostic())
    else unshown++
  }

  const leave = (entry: unknown, position: number, code: string, issues: ReadonlyArray<Issue>) =>
    note(() => {
      const subject = nameOf(entry, id)
      const which = subject.subject === undefined ? `the ${noun} at position ${position}` : `the ${noun}`
      const message = `${which} is left out: ${renderAll(issues)}`
      return { severity: "error", code, message, ...subject, path: issues[0]!.path }
    })

  const ignore = (entry: unknown, issue: Issue) =>
    note(() => {
      const message = `${render(issue)}; it is ignored`
      return { severity: "warning", code: "malformed_detail", message, ...nameOf(entry, id), path: issue.path }
    })

  for (const [index, entry] of entries.entries()) {
    const leftOut = (code: string, issues: ReadonlyArray<Issue>) => leave(entry, index + 1, code, issues)
    if (!Predicate.isRecord(entry)) {
      leftOut(`malformed_${suffix}`, [{ path: [], expected: "an object", found: describeType(entry) }])
      continue
    }
    if (isDeeper(entry, maxDepth)) {
      leftOut("nested_too_deep", [{ path: [], expected: `at most ${maxDepth} levels`, found: "more" }])
      continue
    }
    const issues: Array<Issue> = []
    if (!isComplete(entry, required, (issue) => issues.push(issue))) {
      leftOut(`malformed_${suffix}`, issues)
      continue
    }
    if ((entry[id] as string).length > maxIdLength) {
      const found = `${(entry[id] as string).length}`
      leftOut(`malformed_${suffix}`, [{ path: [id], expected: `at most ${maxIdLength} characters`, found }])
      continue
    }
    if (taken.has(entry[id])) {
      const found = `one that a ${noun} before it has`
      leftOut(`duplicate_${suffix}`, [{ path: [id], expected: `a ${id} of its own`, found }])
      continue
    }
    const refused = refusal?.issue(entry)
    if (refusal !== undefined && refused !== undefined) {
      leftOut(refusal.code, [refused])
      continue
    }
    taken.add(entry[id])
    items.push(withoutWrong(entry, optional, (issue) => ignore(entry, issue)))
  }

  if (unshown > 0)
    diagnostics.push({ severity: "warning", code: "more_diagnostics", message: `${unshown} more are not shown` })
  return { items, diagnostics }
}

/** The name of an entry, even if the rest of it is invalid. */
const nameOf = (entry: unknown, id: string): { readonly subject?: string } => {
  if (!Predicate.isRecord(entry)) return {}
  const name = [entry[id], entry.name].find(Predicate.isString)
  return name === undefined ? {} : { subject: excerpt(name) }
}
