/**
 * The routes of the API as a table, to tell an unknown path from a wrong method before anything else is done.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Findings, findingsOf } from "../domain/parseIssues.js"
import { looksLikeName } from "../domain/looksLikeName.js"
import { ControlApi } from "./ControlApi.js"
import { BadRequest, MethodNotAllowed, RouteNotFound } from "./ControlError.js"

export interface Route {
  readonly method: string
  readonly path: string
  /** Checks a body; absent where none is taken. */
  readonly check?: ((body: unknown) => Findings["issues"]) | undefined
}

const checking = (schema: Schema.Schema<unknown>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all" })
  return (body: unknown) =>
    Either.match(decode(body), { onLeft: ({ issue }) => issuesOf(findingsOf(issue)), onRight: () => [] })
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
      const payload = endpoint.payloadSchema as unknown as Option.Option<Schema.Schema<unknown>>
      const check = Option.getOrUndefined(Option.map(payload, checking))
      found.push({ method, path, check })
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
  return found === undefined
    ? Either.left(new MethodNotAllowed({ method, allow: meant.map((route) => route.method) }))
    : Either.right(found)
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
