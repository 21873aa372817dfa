/**
 * No more is told than somebody reads: one mistake, made in every line, is one mistake.
 */
import { defined } from "../domain/defined.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import type { Issue } from "../domain/Issue.js"

/** Of each file, or of each server's entry. */
export const maxTold = 50

export const cappedIssues = (issues: ReadonlyArray<Issue>): ReadonlyArray<Issue> => {
  if (issues.length <= maxTold) return issues
  const rest: Issue = {
    path: [],
    expected: "fewer mistakes",
    found: `and ${issues.length - maxTold} more`,
    ...defined({ file: issues[0]?.file })
  }
  return [...issues.slice(0, maxTold), rest]
}

/** Each file for itself. */
export const cappedDiagnostics = (diagnostics: ReadonlyArray<Diagnostic>): ReadonlyArray<Diagnostic> => {
  const counts = new Map<string | undefined, number>()
  const told = diagnostics.filter(({ file }) => {
    const count = (counts.get(file) ?? 0) + 1
    counts.set(file, count)
    return count <= maxTold
  })
  const rest = Array.from(counts)
    .filter(([, count]) => count > maxTold)
    .map(
      ([file, count]): Diagnostic => ({
        severity: "warning",
        code: "more",
        message: `and ${count - maxTold} more`,
        ...defined({ file })
      })
    )
  return [...told, ...rest]
}
