/**
 * Decides from the head of a request whether it is accepted: by host, origin and token. The body is not read.
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import { Forbidden, Unauthorized } from "../ControlError.js"
import { hostnameOf } from "./hostnames.js"

export interface Policy {
  /** Whether an `Authorization` header holds a valid token. */
  readonly isTokenValid: (authorization: string | undefined) => boolean
  /** Whether the server may be addressed by this hostname. */
  readonly isHostAllowed: (hostname: string) => boolean
  /** Other origins whose pages may send requests, as `https://host:port`. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Whether requests to this URL need no token. Host and origin are still checked. */
  readonly isPublic: (url: string) => boolean
}

/** The part of a request that admission depends on. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: RequestHeaders
}

type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Passes accepted requests to the app, answers CORS preflights, and fails for all other requests. */
export const enforce =
  (policy: Policy) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E | Forbidden | Unauthorized, R> =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest
      if (isAllowedPreflight(policy, request)) return HttpServerResponse.empty({ headers: preflightHeaders })
      const rejection = check(policy, request) ?? checkSingleHost(request)
      return yield* rejection ?? app
    })

/** Adds the headers that every response carries, including rejections. */
export const withResponseHeaders =
  (policy: Policy) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
    Effect.zipWith(app, HttpServerRequest, (response, { headers }) =>
      HttpServerResponse.setHeaders(response, {
        // responses describe the current state for one caller, and browsers must not guess their type
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        ...corsHeaders(policy, headers)
      })
    )

/** Why a request is rejected, or `undefined` if it is accepted. */
export const check = (policy: Policy, { headers, url }: RequestHead): Forbidden | Unauthorized | undefined =>
  checkHost(policy, headers) ?? checkOrigin(policy, headers) ?? checkToken(policy, headers, url)

/** Protects against DNS rebinding, where a foreign name resolves to this machine. */
const checkHost = (policy: Policy, { host }: RequestHeaders): Forbidden | undefined => {
  const hostname = hostnameOf(host)
  return hostname !== undefined && policy.isHostAllowed(hostname) ? undefined : new Forbidden({ header: "host" })
}

/** Only browsers send an origin. Pages served from the requested host itself are accepted. */
const checkOrigin = (policy: Policy, { host, origin }: RequestHeaders): Forbidden | undefined =>
  origin === undefined || isSameOrigin(origin, host) || isOriginAllowed(policy, origin)
    ? undefined
    : new Forbidden({ header: "origin" })

const checkToken = (policy: Policy, { authorization }: RequestHeaders, url: string): Unauthorized | undefined =>
  policy.isPublic(url) || policy.isTokenValid(authorization) ? undefined : new Unauthorized()

/** Node exposes only the first of several `Host` headers, and a proxy may have checked a different one. */
const checkSingleHost = (request: HttpServerRequest): Forbidden | undefined => {
  const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host")
  return hosts.length > 1 ? new Forbidden({ header: "host" }) : undefined
}

const isOriginAllowed = ({ allowedOrigins }: Policy, origin: string | undefined): origin is string =>
  origin !== undefined && allowedOrigins.includes(origin)

const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/** Whether this is a CORS preflight of an allowed page. Browsers send no token with a preflight. */
const isAllowedPreflight = (policy: Policy, { headers, method }: RequestHead): boolean =>
  method === "OPTIONS" &&
  headers["access-control-request-method"] !== undefined &&
  isOriginAllowed(policy, headers.origin) &&
  checkHost(policy, headers) === undefined

/** The CORS headers that let an allowed page read the response. */
const corsHeaders = (policy: Policy, { origin }: RequestHeaders): Readonly<Record<string, string>> =>
  isOriginAllowed(policy, origin)
    ? { "access-control-allow-origin": origin, "access-control-expose-headers": "allow", vary: "Origin" }
    : {}

/** An allowed page may use the whole API, because it also needs the token. */
const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-allow-private-network": "true",
  "access-control-max-age": "600"
}
