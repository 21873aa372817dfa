/**
 * Restricts requests to the addresses that a policy allows. The URL is checked before the request, and each resolved address
 * when the connection is made: this protects against DNS rebinding.
 */
import { lookup as systemLookup, type LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import * as Context from "effect/Context"
import { buildConnector } from "undici"
import { judge, judgeAddress, type Policy, type Verdict, zoneOfHost } from "../../domain/NetworkAddress.js"

/** A policy forbids the address. Nothing was sent. */
export class AddressRefused extends Error {
  readonly code = "ERR_ADDRESS_REFUSED"
  readonly verdict: Exclude<Verdict, "allowed">
  readonly host: string

  constructor(verdict: Exclude<Verdict, "allowed">, host: string) {
    super(`${host} is ${verdict === "unencrypted" ? "not encrypted" : "an address of this machine or its network"}`)
    this.verdict = verdict
    this.host = host
  }
}

/** The function that resolves host names. */
export class NameLookup extends Context.Reference<NameLookup>()("mcp-supervisor/NameLookup", {
  defaultValue: (): LookupFunction => systemLookup as LookupFunction
}) {}

/** Milliseconds. The maximum time of a lookup before a request. */
const lookupBudget = 2000

/** Checks the text of a URL. `undefined`: the policy allows it. `"resolve"`: the address behind the name decides. */
export const refusalOf = (policy: Policy, url: URL): AddressRefused | "resolve" | undefined => {
  const verdict = judge(policy, url)
  if (verdict === undefined) return "resolve"
  return verdict === "allowed" ? undefined : new AddressRefused(verdict, url.hostname)
}

/**
 * Checks a URL with a lookup before the request, for connections that a proxy or a browser makes. Every address of the name
 * must be allowed, because any of them may be used. If the name cannot be resolved here, it is allowed for https and for the
 * names of private networks.
 */
export const refusalAhead = async (
  policy: Policy,
  lookup: LookupFunction,
  url: URL,
  budget = lookupBudget
): Promise<AddressRefused | undefined> => {
  const refusal = refusalOf(policy, url)
  if (refusal !== "resolve") return refusal
  const { hostname, protocol } = url
  const addresses = await resolved(lookup, hostname, budget)
  if (addresses.length === 0) {
    const isLeft = protocol === "https:" || zoneOfHost(hostname) === "private"
    return isLeft ? undefined : new AddressRefused("unencrypted", hostname)
  }
  for (const { address } of addresses) {
    const verdict = judgeAddress(policy, protocol, address)
    if (verdict !== "allowed") return new AddressRefused(verdict, hostname)
  }
  return undefined
}

const resolved = (lookup: LookupFunction, hostname: string, budget: number): Promise<ReadonlyArray<LookupAddress>> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve([]), budget)
    lookup(hostname, { all: true }, (error, found) => {
      clearTimeout(timer)
      resolve(error === null && Array.isArray(found) ? found : [])
    })
  })

/** A connector that connects only to addresses that the policy allows. */
export const guardedConnector = (
  policy: Policy,
  lookup: LookupFunction,
  tls: { readonly ca?: Array<string> }
): buildConnector.connector => {
  const connectorFor = (protocol: string) =>
    buildConnector({ ...tls, lookup: guardedLookup(policy, protocol, lookup) } as buildConnector.BuildOptions)
  const [http, https] = [connectorFor("http:"), connectorFor("https:")]
  return (options, callback) => (options.protocol === "https:" ? https : http)(options, callback)
}

/** A lookup that returns only the allowed addresses and fails if there is none. */
export const guardedLookup =
  (policy: Policy, protocol: string, lookup: LookupFunction): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const addresses = found as ReadonlyArray<LookupAddress>
      const allowed = addresses.filter(({ address }) => judgeAddress(policy, protocol, address) === "allowed")
      const [first] = allowed
      if (first === undefined) {
        const verdict = judgeAddress(policy, protocol, addresses[0]?.address ?? "")
        return callback(new AddressRefused(verdict === "unencrypted" ? verdict : "too_near", hostname), [])
      }
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family)
    })
