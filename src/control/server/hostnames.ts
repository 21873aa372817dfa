/**
 * Decides by which hostnames the control server may be addressed.
 */
import { isIP } from "node:net"
import * as NetworkAddress from "../../domain/NetworkAddress.js"

/** The lower-case hostname of a `Host` header without its port, or `undefined` if the header is invalid. */
export const hostnameOf = (host: string | undefined): string | undefined => {
  const [, literal, name] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s?#\\]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? []
  return (literal ?? name)?.toLowerCase()
}

/** Whether a hostname always means this machine. Names below `localhost` do not: a resolver may look them up elsewhere. */
export const isLoopback = (hostname: string): boolean =>
  NetworkAddress.isLoopback(hostname) && !hostname.endsWith(".localhost")

/**
 * Accepts loopback names and `allowedHosts`. A server bound beyond loopback also accepts the bound name and all IP addresses:
 * DNS rebinding needs a name, so a request to an IP address cannot come from it.
 */
export const isAllowed =
  (boundHost: string, allowedHosts: ReadonlyArray<string>) =>
  (hostname: string): boolean =>
    isLoopback(hostname) ||
    allowedHosts.some((name) => name.toLowerCase() === hostname) ||
    (!isLoopback(boundHost.toLowerCase()) && (hostname === boundHost.toLowerCase() || isIP(hostname) !== 0))
