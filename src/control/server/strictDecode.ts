/**
 * Decodes a part of a request and rejects unknown keys. The issues name paths and types, never values.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { looksLikeName } from "../../domain/internal/looksLikeName.js"
import { findingsOf } from "../../domain/internal/parseIssues.js"
import type { Issue } from "../../domain/Issue.js"

/** The largest number of issues, and of unknown keys, that are reported for one request. */
const maxIssues = 20

export const strictDecode = <A, I>(
  schema: Schema.Schema<A, I>
): ((value: unknown) => Either.Either<A, ReadonlyArray<Issue>>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
  return (value) =>
    Either.mapLeft(decode(value), ({ issue }) => {
      const { issues, unknownKeys } = findingsOf(issue, maxIssues)
      return [...issues, ...unknownKeys.map(unknownKey)]
    })
}

/** A key that does not look like a name can be a secret, so only its position is reported. */
const unknownKey = (path: Issue["path"]): Issue => ({
  path: path.every(looksLikeName) ? path : path.slice(0, -1),
  expected: "a known key",
  found: "an unknown key"
})
