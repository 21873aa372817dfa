/**
 * Converts the response to a request into a result or an error of the domain.
 */
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import {
  type ConnectionError,
  InvalidResult,
  NotSent,
  OutcomeUnknown,
  ProtocolError,
  RateLimited
} from "../../domain/Errors.js"
import { describeType, type Issue } from "../../domain/Issue.js"
import { isDeeper, maxDepth } from "../../domain/internal/isDeeper.js"
import { findingsOf } from "../../domain/internal/parseIssues.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { scrubDeep } from "../../domain/internal/scrubDeep.js"
import { withoutName } from "../../domain/internal/withoutName.js"
import type { RequestError } from "../Session.js"
import { excerptOf, type Scrubbers } from "./shown.js"
import type { WireFailure } from "../wire/Wire.js"

/** Validates a tool result. A hand-written check accepts valid results fast; the schema is used only to report issues. */
export const callResult = (server: string, result: unknown): Exit.Exit<Protocol.CallToolResult, InvalidResult> =>
  isCallResult(result) && !isTooDeep(result)
    ? Exit.succeed(result)
    : decodeResult(server, Protocol.CallToolResult, result)

/** The maximum number of content blocks, contents, messages or values in one result. */
export const maxEntries = 10_000

/** The maximum number of reported issues of one result. */
const maxIssues = 20

/** The maximum number of characters of an error of a server: of its message, and of its data with all texts and keys. */
export const maxMessage = 8 * 1024
export const maxData = 64 * 1024

const isCallResult = (result: unknown): result is Protocol.CallToolResult => {
  if (typeof result !== "object" || result === null) return false
  const { content, isError } = result as { readonly content?: unknown; readonly isError?: unknown }
  return (
    Array.isArray(content) &&
    content.length <= maxEntries &&
    (isError === undefined || typeof isError === "boolean") &&
    content.every((block) => typeof block === "object" && block !== null && typeof block.type === "string")
  )
}

export const decodeResult = <A, I>(
  server: string,
  schema: Schema.Schema<A, I>,
  result: unknown
): Exit.Exit<A, InvalidResult> => {
  const crowdedList = crowdedPath(result)
  if (crowdedList !== undefined) return Exit.fail(invalidResult(server, [tooMany(crowdedList)]))
  if (isTooDeep(result)) return Exit.fail(invalidResult(server, [tooDeep]))
  return Either.match(Schema.decodeUnknownEither(schema)(result), {
    onLeft: ({ issue }) => Exit.fail(invalidResult(server, issuesOf(schema, result, issue), result)),
    onRight: Exit.succeed
  })
}

/** The paths of the lists in a result whose length is not limited by the protocol. */
const lists: ReadonlyArray<ReadonlyArray<string>> = [["content"], ["contents"], ["messages"], ["completion", "values"]]

const crowdedPath = (result: unknown): Issue["path"] | undefined =>
  lists.find((path) => {
    const list = path.reduce<unknown>((at, key) => (Predicate.isRecord(at) ? at[key] : undefined), result)
    return Array.isArray(list) && list.length > maxEntries
  })

const tooMany = (path: Issue["path"]): Issue => ({ path, expected: `at most ${maxEntries} entries`, found: "more" })

/** The issues near the first one. In a list, only the next {@link maxIssues} entries are validated. */
const issuesOf = <A, I>(
  schema: Schema.Schema<A, I>,
  result: unknown,
  first: ParseResult.ParseIssue
): ReadonlyArray<Issue> => {
  const [issue] = findingsOf(first, 1).issues
  const near = issue === undefined ? result : shortened(result, issue.path)
  return Either.match(Schema.decodeUnknownEither(schema, { errors: "all" })(near), {
    onLeft: ({ issue }) => findingsOf(issue, maxIssues).issues,
    onRight: () => []
  })
}

const shortened = (value: unknown, [step, ...rest]: Issue["path"]): unknown => {
  if (typeof step === "number" && Array.isArray(value)) return value.slice(0, step + maxIssues)
  if (typeof step !== "string" || !Predicate.isRecord(value)) return value
  return { ...value, [step]: shortened(value[step], rest) }
}

/** Whether a value of a server is nested more deeply than allowed. */
export const isTooDeep = (value: unknown): boolean => isDeeper(value, maxDepth)

export const tooDeep: Issue = { path: [], expected: `at most ${maxDepth} levels`, found: "more" }

export const invalidResult = (server: string, issues: ReadonlyArray<Issue>, result?: unknown): InvalidResult =>
  new InvalidResult({
    server,
    issues: Arr.isNonEmptyReadonlyArray(issues)
      ? issues
      : [{ path: [], expected: "a valid result", found: describeType(result) }]
  })

/** Converts a JSON-RPC error of the server: secrets are removed, and long texts are cut. */
export const protocolError = (server: string, error: unknown, scrubbers: Scrubbers): ProtocolError => {
  const { code, data, message } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>
  const scrub = (text: string) => excerptOf(scrubbers, text, maxMessage)
  return new ProtocolError({
    server,
    code: typeof code === "number" && Number.isFinite(code) ? code : Protocol.errorCodes.InternalError,
    message: scrub(typeof message === "string" ? message : "the server gave no reason"),
    ...(data === undefined ? {} : { data: scrubDeep(data, scrub, { left: maxData }) })
  })
}

/** Converts the failure of a request. The error says above all whether the server may have executed the request. */
export const requestFailure = (server: string, { reason, stage }: WireFailure): RequestError => {
  if (stage === "sent") return new OutcomeUnknown({ server, cause: reason })
  if (reason._tag === "AuthRequired") return reason
  // The reason may be the response to a different request, so it is not reported as the response to this one.
  if (stage === "unsent") return notSent(server, reason)
  if (reason._tag === "HttpFailed" && reason.status === 429) {
    return new RateLimited({ server, retryAfter: reason.retryAfter ?? defaultRetryAfter })
  }
  return isRefusal(reason) ? notSent(server, reason) : new OutcomeUnknown({ server, cause: reason })
}

/** Milliseconds, for a server that limits the rate without `retry-after`. */
const defaultRetryAfter = 1000

/** Whether the server reports that it did not accept the request. Other statuses may also occur after it was executed. */
const isRefusal = (reason: ConnectionError): boolean =>
  reason._tag === "SessionLost" || (reason._tag === "HttpFailed" && refusalStatuses.has(reason.status))

const refusalStatuses = new Set([307, 308, 400, 401, 403, 404, 405, 406, 411, 413, 414, 415, 421, 425, 426, 431])

const notSent = (server: string, { message }: ConnectionError): NotSent =>
  new NotSent({ server, reason: withoutName(server, message) })
