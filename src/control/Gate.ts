/**
 * Who may come in: decided by the head of a request alone, before its body is read.
 */
import { isIP } from "node:net"
import { Forbidden, Unauthorized } from "./ControlError.js"

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
  const hostname = hostnameOf(headers.host)
  if (hostname === undefined || !policy.isOurs(hostname)) return new Forbidden({ header: "host" })
  if (
    headers.origin !== undefined &&
    !isSame(headers.origin, headers.host) &&
    !policy.origins.includes(headers.origin)
  ) {
    return new Forbidden({ header: "origin" })
  }
  return policy.accepts(headers.authorization) ? undefined : new Unauthorized()
}

/** The name in a `Host` header, in small letters, without its port. Nothing, if it is no such header. */
export const hostnameOf = (host: string | undefined): string | undefined => {
  const [, literal, name] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s?#\\]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? []
  return (literal ?? name)?.toLowerCase()
}

/** Whether a page was served under the very name that it asks. */
const isSame = (origin: string, host: string | undefined): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/** The names of this machine that nobody else can answer to. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIP(hostname) === 4 && hostname.startsWith("127."))

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
