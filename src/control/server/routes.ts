/**
 * The routes of the API as a table, to tell an unknown path from a wrong method before anything else is done.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Findings, findingsOf } from "../../domain/internal/parseIssues.js"
import { looksLikeName } from "../../domain/internal/looksLikeName.js"
import { ControlApi } from "../ControlApi.js"
import { BadRequest, MethodNotAllowed, RouteNotFound } from "../ControlError.js"

export interface Route {
  readonly method: string
  readonly path: string
  /** Checks a body; absent where none is taken. */
  readonly check?: ((body: unknown) => Findings["issues"]) | undefined
  /** Checks what follows the question mark; absent where nothing is taken. */
  readonly checkQuery?: ((query: unknown) => Findings["issues"]) | undefined
}

/** Issues, and unknown keys, of one request that are told. */
const maxIssues = 20

const checking = (schema: Schema.Schema<unknown>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
  return (body: unknown) =>
    Either.match(decode(body), { onLeft: ({ issue }) => issuesOf(findingsOf(issue, maxIssues)), onRight: () => [] })
}

const issuesOf = ({ issues, unknownKeys }: Findings): Findings["issues"] => [
  ...issues,
  ...unknownKeys.map((path) => ({
    path: path.every(looksLikeName) ? path : path.slice(0, -1),
    expected: "a key that is known here",
    found: "another one"
  }))
]

export const routes: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = []
  HttpApi.reflect(ControlApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const { method, path } = endpoint
      const checkOf = (schema: unknown) =>
        Option.getOrUndefined(Option.map(schema as Option.Option<Schema.Schema<unknown>>, checking))
      found.push({
        method,
        path,
        check: checkOf(endpoint.payloadSchema),
        checkQuery: checkOf(endpoint.urlParamsSchema)
      })
    }
  })
  return found
})()

/** Which route a request means. */
export const match = (
  method: string,
  url: string
): Either.Either<Route, RouteNotFound | MethodNotAllowed | BadRequest> => {
  const path = pathOf(url)
  const segments = path.split("/")
  if (!segments.every(isDecodable)) {
    return Either.left(new BadRequest({ detail: "the path holds a % that stands for nothing", issues: [] }))
  }
  const candidates = routes.filter((route) => fits(route.path.split("/"), segments))
  if (candidates.length === 0) return Either.left(new RouteNotFound({ path }))
  // a path that is written out is meant, not a name that reads the same
  const exact = candidates.filter((route) => route.path === path)
  const meant = exact.length > 0 ? exact : candidates
  const found = meant.find((route) => route.method === method)
  if (found === undefined) {
    return Either.left(new MethodNotAllowed({ method, allow: meant.map((route) => route.method) }))
  }
  const issues = found.checkQuery?.(queryOf(url)) ?? []
  return issues.length === 0
    ? Either.right(found)
    : Either.left(new BadRequest({ detail: "the address is not what this route takes", issues }))
}

/** What is given more than once is a list. */
const queryOf = (url: string): Readonly<Record<string, string | ReadonlyArray<string>>> => {
  const given = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  return Object.fromEntries(
    Array.from(new Set(given.keys()), (key) => {
      const [value = "", ...more] = given.getAll(key)
      return [key, more.length === 0 ? value : [value, ...more]]
    })
  )
}

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

const fits = (pattern: ReadonlyArray<string>, segments: ReadonlyArray<string>): boolean =>
  pattern.length === segments.length &&
  pattern.every((part, index) => (part.startsWith(":") ? segments[index] !== "" : part === segments[index]))

const isDecodable = (segment: string): boolean => {
  try {
    decodeURIComponent(segment)
    return true
  } catch {
    return false
  }
}
