/**
 * Limits the number of reported issues per file and per entry.
 */
import { defined } from "../../domain/internal/defined.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type { Issue } from "../../domain/Issue.js"

/** The largest number of reported issues of a file, or of one server's entry. */
export const maxReported = 50

export const limitIssues = (issues: ReadonlyArray<Issue>): ReadonlyArray<Issue> => {
  if (issues.length <= maxReported) return issues
  const rest: Issue = {
    path: [],
    expected: "fewer mistakes",
    found: `and ${issues.length - maxReported} more`,
    ...defined({ file: issues[0]?.file })
  }
  return [...issues.slice(0, maxReported), rest]
}

/** Limits the diagnostics of each file. */
export const limitDiagnostics = (diagnostics: ReadonlyArray<Diagnostic>): ReadonlyArray<Diagnostic> => {
  const counts = new Map<string | undefined, number>()
  const told = diagnostics.filter(({ file }) => {
    const count = (counts.get(file) ?? 0) + 1
    counts.set(file, count)
    return count <= maxReported
  })
  const rest = Array.from(counts)
    .filter(([, count]) => count > maxReported)
    .map(
      ([file, count]): Diagnostic => ({
        severity: "warning",
        code: "more",
        message: `and ${count - maxReported} more`,
        ...defined({ file })
      })
    )
  return [...told, ...rest]
}
