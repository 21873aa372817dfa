/**
 * Who may come in: decided by the head of a request alone, before its body is read.
 */
import { isIP } from "node:net"
import * as NetworkAddress from "../../domain/NetworkAddress.js"
import { Forbidden, Unauthorized } from "../ControlError.js"

export interface Policy {
  /** Whether a header carries a token of ours. */
  readonly accepts: (authorization: string | undefined) => boolean
  /** Whether a name under which we are asked is one of ours. */
  readonly isOurs: (hostname: string) => boolean
  /** Further pages that may ask, as `https://host:port`. */
  readonly origins: ReadonlyArray<string>
}

export type Headers = Readonly<Record<string, string | undefined>>

/** Why a request may not come in; nothing if it may. */
export const refuse = (policy: Policy, headers: Headers): Forbidden | Unauthorized | undefined => {
  const stranger = strange(policy, headers)
  if (stranger !== undefined) return stranger
  return policy.accepts(headers.authorization) ? undefined : new Unauthorized()
}

const strange = (policy: Policy, headers: Headers): Forbidden | undefined => {
  const hostname = hostnameOf(headers.host)
  if (hostname === undefined || !policy.isOurs(hostname)) return new Forbidden({ header: "host" })
  const isKnown =
    headers.origin === undefined || isSame(headers.origin, headers.host) || isListed(policy, headers.origin)
  return isKnown ? undefined : new Forbidden({ header: "origin" })
}

const isListed = ({ origins }: Policy, origin: string | undefined): origin is string =>
  origin !== undefined && origins.includes(origin)

/** Whether a browser only asks if a page that may ask is about to. It sends no token for that. */
export const isPreflight = (policy: Policy, method: string, headers: Headers): boolean =>
  method === "OPTIONS" &&
  headers["access-control-request-method"] !== undefined &&
  isListed(policy, headers.origin) &&
  strange(policy, headers) === undefined

/** What a browser has to be told so that a page that may ask hears the answer. */
export const sharing = (policy: Policy, headers: Headers): Readonly<Record<string, string>> =>
  isListed(policy, headers.origin)
    ? { "access-control-allow-origin": headers.origin, "access-control-expose-headers": "allow", vary: "Origin" }
    : {}

/** What such a page may do: everything, as it has the token. */
export const allowances: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-allow-private-network": "true",
  "access-control-max-age": "600"
}

/** The name in a `Host` header, in small letters, without its port. Nothing, if it is no such header. */
export const hostnameOf = (host: string | undefined): string | undefined => {
  const [, literal, name] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s?#\\]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? []
  return (literal ?? name)?.toLowerCase()
}

/** Whether a page was served under the very name that it asks. */
const isSame = (origin: string, host: string | undefined): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/** The names of this machine that no other machine can answer to. A resolver may look for those below `localhost` elsewhere. */
export const isLoopback = (hostname: string): boolean =>
  NetworkAddress.isLoopback(hostname) && !hostname.endsWith(".localhost")

/**
 * The names we answer to. A page on the internet can give a name of its own our address, but it cannot make us known by a
 * number: beyond loopback, numbers are fine.
 */
export const ours =
  (bound: string, further: ReadonlyArray<string>): Policy["isOurs"] =>
  (hostname) =>
    isLoopback(hostname) ||
    further.some((name) => name.toLowerCase() === hostname) ||
    (!isLoopback(bound.toLowerCase()) && (hostname === bound.toLowerCase() || isIP(hostname) !== 0))
