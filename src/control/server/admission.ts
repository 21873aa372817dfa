/**
 * Decides from the head of a request whether it is accepted: by host, origin and token. The body is not read.
 */
import { isIP } from "node:net"
import * as NetworkAddress from "../../domain/NetworkAddress.js"
import { Forbidden, Unauthorized } from "../ControlError.js"

export interface Policy {
  /** Whether an `Authorization` header holds a valid token. */
  readonly accepts: (authorization: string | undefined) => boolean
  /** Whether the server may be addressed by this host name. */
  readonly isOurs: (hostname: string) => boolean
  /** Other origins whose pages may send requests, as `https://host:port`. */
  readonly origins: ReadonlyArray<string>
}

export type Headers = Readonly<Record<string, string | undefined>>

/** Why a request is rejected, or `undefined` if it is accepted. */
export const refuse = (policy: Policy, headers: Headers): Forbidden | Unauthorized | undefined => {
  const forbidden = checkHostAndOrigin(policy, headers)
  if (forbidden !== undefined) return forbidden
  return policy.accepts(headers.authorization) ? undefined : new Unauthorized()
}

/** The host check protects against DNS rebinding, where a foreign name resolves to this machine. Only browsers send an origin. */
const checkHostAndOrigin = (policy: Policy, headers: Headers): Forbidden | undefined => {
  const hostname = hostnameOf(headers.host)
  if (hostname === undefined || !policy.isOurs(hostname)) return new Forbidden({ header: "host" })
  const isAllowed =
    headers.origin === undefined || isSameOrigin(headers.origin, headers.host) || isOriginListed(policy, headers.origin)
  return isAllowed ? undefined : new Forbidden({ header: "origin" })
}

const isOriginListed = ({ origins }: Policy, origin: string | undefined): origin is string =>
  origin !== undefined && origins.includes(origin)

/** Whether this is a CORS preflight of an allowed page. Browsers send no token with a preflight. */
export const isPreflight = (policy: Policy, method: string, headers: Headers): boolean =>
  method === "OPTIONS" &&
  headers["access-control-request-method"] !== undefined &&
  isOriginListed(policy, headers.origin) &&
  checkHostAndOrigin(policy, headers) === undefined

/** The CORS headers that let an allowed page read the response. */
export const sharing = (policy: Policy, headers: Headers): Readonly<Record<string, string>> =>
  isOriginListed(policy, headers.origin)
    ? { "access-control-allow-origin": headers.origin, "access-control-expose-headers": "allow", vary: "Origin" }
    : {}

/** The CORS headers of a preflight response. An allowed page may use the whole API, because it also needs the token. */
export const allowances: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-allow-private-network": "true",
  "access-control-max-age": "600"
}

/** The host name of a `Host` header, in lower case and without port. `undefined` if the header is invalid. */
export const hostnameOf = (host: string | undefined): string | undefined => {
  const [, literal, name] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s?#\\]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? []
  return (literal ?? name)?.toLowerCase()
}

/** Whether a page was served from the requested host itself. */
const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/** Whether a host name always means this machine. Names below `localhost` do not: a resolver may look them up elsewhere. */
export const isLoopback = (hostname: string): boolean =>
  NetworkAddress.isLoopback(hostname) && !hostname.endsWith(".localhost")

/**
 * The host names under which requests are accepted. With DNS rebinding, a page can make a name resolve to this machine, but
 * its requests then carry that name: IP addresses are safe. They are accepted if the server is bound beyond loopback.
 */
export const ours =
  (bound: string, further: ReadonlyArray<string>): Policy["isOurs"] =>
  (hostname) =>
    isLoopback(hostname) ||
    further.some((name) => name.toLowerCase() === hostname) ||
    (!isLoopback(bound.toLowerCase()) && (hostname === bound.toLowerCase() || isIP(hostname) !== 0))
