/**
 * Finds the route of a request in a table derived from `ControlApi`, and distinguishes an unknown path from a wrong method.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Issue } from "../../domain/Issue.js"
import { ControlApi } from "../ControlApi.js"
import { BadRequest, MethodNotAllowed, RouteNotFound } from "../ControlError.js"
import { strictDecode } from "./strictDecode.js"

export interface Route {
  readonly method: string
  readonly path: string
  /** Validates the query parameters. Absent if the route takes none. */
  readonly checkQuery?: ((query: unknown) => ReadonlyArray<Issue>) | undefined
}

const checkOf = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = strictDecode(schema)
  return (query: unknown) => Either.match(decode(query), { onLeft: (issues) => issues, onRight: () => [] })
}

export const routes: ReadonlyArray<Route> = (() => {
  const all: Array<Route> = []
  HttpApi.reflect(ControlApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, path, urlParamsSchema } }) => {
      all.push({ method, path, checkQuery: Option.getOrUndefined(Option.map(urlParamsSchema, checkOf)) })
    }
  })
  return all
})()

/** Finds the route of a request and validates its query parameters. */
export const match = (
  method: string,
  url: string
): Either.Either<Route, RouteNotFound | MethodNotAllowed | BadRequest> => {
  const path = pathOf(url)
  const segments = path.split("/")
  if (!segments.every(isDecodable)) {
    return Either.left(new BadRequest({ detail: "the path contains an invalid percent encoding", issues: [] }))
  }
  const candidates = routes.filter((route) => fits(route.path.split("/"), segments))
  if (candidates.length === 0) return Either.left(new RouteNotFound({ path }))
  // a literal path wins over a path with a name of the same spelling
  const exact = candidates.filter((route) => route.path === path)
  const matching = exact.length > 0 ? exact : candidates
  const route = matching.find((candidate) => candidate.method === method)
  if (route === undefined) {
    return Either.left(new MethodNotAllowed({ method, allow: matching.map((route) => route.method) }))
  }
  const issues = route.checkQuery?.(queryOf(url)) ?? []
  return issues.length === 0
    ? Either.right(route)
    : Either.left(new BadRequest({ detail: "the query parameters are invalid for this route", issues }))
}

/** The query parameters. A parameter that occurs more than once is a list. */
const queryOf = (url: string): Readonly<Record<string, string | ReadonlyArray<string>>> => {
  const params = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  return Object.fromEntries(
    Array.from(new Set(params.keys()), (key) => {
      const [value = "", ...more] = params.getAll(key)
      return [key, more.length === 0 ? value : [value, ...more]]
    })
  )
}

/** The path of a URL without query and fragment, as it was sent. */
export const pathOf = (url: string): string => {
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
