/**
 * Classifies network addresses, and decides which of them a server may name. A server chooses the names and addresses in its
 * OAuth documents, so each is checked before a request is sent to it.
 */

/** How near an address is to this machine, from far to near: the internet, a private network, the link, this machine. */
export type Zone = "public" | "private" | "link" | "machine"

/** A larger number is nearer. */
const nearness: Readonly<Record<Zone, number>> = { public: 0, private: 1, link: 2, machine: 3 }

/** Which addresses a server may name. */
export interface Policy {
  /** The origins that the config itself names. Requests to them need no permission. */
  readonly configured: ReadonlySet<string>
  /** The nearest zone that is allowed for all other addresses. */
  readonly nearest: Zone
}

/**
 * The decision on an address.
 *
 * - `allowed`: a request may be sent.
 * - `unencrypted`: the address must use https.
 * - `too_near`: the address leads into a network or to a machine that the server itself cannot reach.
 */
export type Verdict = "allowed" | "unencrypted" | "too_near"

/**
 * Computes the policy for a server at this address. The server may name addresses as near as its own, and none that are nearer.
 */
export const policyFor = (options: {
  readonly url: string
  /** Further addresses in the config. */
  readonly configured?: ReadonlyArray<string> | undefined
  readonly privateNetwork: boolean
}): Policy => {
  const { configured = [], privateNetwork, url } = options
  const configuredUrls = [url, ...configured].filter((each) => URL.canParse(each)).map((each) => new URL(each))
  const ownZone = URL.canParse(url) ? zoneOfHost(new URL(url).hostname) : undefined
  return {
    configured: new Set(configuredUrls.map(({ origin }) => origin)),
    // a name that needs the DNS counts as public: the server controls the response of the DNS, too
    nearest: privateNetwork ? "machine" : (ownZone ?? "public")
  }
}

/**
 * Decides whether a request may be sent to a URL. Undefined if the decision depends on the address to which the name resolves.
 */
export const judge = (policy: Policy, url: URL): Verdict | undefined => {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "unencrypted"
  if (policy.configured.has(url.origin)) return "allowed"
  const zone = zoneOfHost(url.hostname)
  const verdict = zone === undefined ? undefined : judgeZone(policy, url.protocol, zone)
  // a name of a private network may still resolve to this machine
  if (verdict !== undefined && (verdict !== "allowed" || zone !== "private" || isLiteral(url.hostname))) return verdict
  // whatever the address is, it is not allowed
  return url.protocol === "http:" && policy.nearest === "public" ? "unencrypted" : undefined
}

/** Decides whether a request may be sent to an address to which a name resolved. */
export const judgeAddress = (policy: Policy, protocol: string, address: string): Verdict =>
  judgeZone(policy, protocol, zoneOfAddress(address))

const judgeZone = ({ nearest }: Policy, protocol: string, zone: Zone): Verdict => {
  if (nearness[zone] > nearness[nearest]) return "too_near"
  return protocol === "https:" || zone !== "public" ? "allowed" : "unencrypted"
}

const isLiteral = (hostname: string): boolean => hostname.startsWith("[") || /^[\d.]+$/.test(hostname)

/** Suffixes of names that never lead to the internet (RFC 6761, 6762, 8375, and names common in private networks). */
const privateSuffix = /\.(?:local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** The zone of a host in the spelling of the URL parser. Undefined for a name that needs the DNS. */
export const zoneOfHost = (hostname: string): Zone | undefined => {
  const host = hostname.toLowerCase().replace(/\.$/, "")
  if (isLiteral(host)) return zoneOfAddress(host.replace(/[[\]]/g, ""))
  if (host === "localhost" || host.endsWith(".localhost")) return "machine"
  return !host.includes(".") || privateSuffix.test(host) ? "private" : undefined
}

/**
 * Whether a host, with or without the brackets of a URL, is reachable only from this machine. The zone is not enough: `0.0.0.0`
 * leads to this machine, but a listener on it is reachable from everywhere.
 */
export const isLoopback = (hostname: string): boolean => {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "")
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The zone of an IPv4 or IPv6 address. An invalid address counts as this machine. */
export const zoneOfAddress = (address: string): Zone => {
  const plain = address.replace(/%.*/s, "")
  // the URL parser accepts every spelling: hexadecimal, octal, one number, an IPv4 address within an IPv6 address
  const text = `http://${plain.includes(":") ? `[${plain}]` : plain}/`
  if (!URL.canParse(text)) return "machine"
  const host = new URL(text).hostname
  if (host.startsWith("[")) return zoneOfIPv6(groupsOf(host.slice(1, -1)))
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) ? zoneOfIPv4(host.split(".").map(Number)) : "machine"
}

/** The first bytes, the number of significant bits, and the zone. */
type AddressRange = readonly [start: ReadonlyArray<number>, bits: number, zone: Zone]

const ipv4: ReadonlyArray<AddressRange> = [
  [[0], 8, "machine"],
  [[127], 8, "machine"],
  [[169, 254], 16, "link"],
  [[224], 4, "link"],
  [[240], 4, "link"],
  [[10], 8, "private"],
  [[100, 64], 10, "private"],
  [[172, 16], 12, "private"],
  [[192, 168], 16, "private"],
  // special purposes (RFC 6890): protocol assignments, documentation, relays, benchmarks
  [[192, 0, 0], 24, "private"],
  [[192, 0, 2], 24, "private"],
  [[192, 88, 99], 24, "private"],
  [[198, 18], 15, "private"],
  [[198, 51, 100], 24, "private"],
  [[203, 0, 113], 24, "private"]
]

const zoneOfIPv4 = (bytes: ReadonlyArray<number>): Zone => zoneIn(ipv4, bytes) ?? "public"

const ipv6: ReadonlyArray<AddressRange> = [
  [[0xfe, 0x80], 10, "link"],
  [[0xff], 8, "link"],
  // Teredo and other tunnels and identifiers, documentation
  [[0x20, 0x01, 0x00], 23, "private"],
  [[0x20, 0x01, 0x0d, 0xb8], 32, "private"],
  [[0x3f, 0xff, 0x00], 20, "private"],
  [[0x20], 3, "public"]
]

const zoneOfIPv6 = (groups: ReadonlyArray<number>): Zone => {
  const bytes = groups.flatMap((group) => [group >> 8, group & 0xff])
  const embedded = embeddedIPv4(groups)
  if (embedded !== undefined) return zoneOfIPv4(bytes.slice(embedded, embedded + 4))
  // unique local, site local, and unassigned addresses
  return zoneIn(ipv6, bytes) ?? "private"
}

/** The byte offset of an IPv4 address that is embedded in an IPv6 address: compatible, mapped, translated, NAT64, 6to4. */
const embeddedIPv4 = (groups: ReadonlyArray<number>): number | undefined => {
  if (groups[0] === 0x2002) return 2
  const prefix = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(":")
  return ["0:0:0:0:0:0", "0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"].includes(prefix) ? 12 : undefined
}

const zoneIn = (ranges: ReadonlyArray<AddressRange>, bytes: ReadonlyArray<number>): Zone | undefined =>
  ranges.find(([start, bits]) =>
    start.every((byte, index) => {
      const unused = Math.min(8, Math.max(0, (index + 1) * 8 - bits))
      return bytes[index]! >> unused === byte >> unused
    })
  )?.[2]

/** The eight groups of an IPv6 address in the spelling of the URL parser. */
const groupsOf = (text: string): ReadonlyArray<number> => {
  const written = (part: string) => part.split(":").filter((group) => group !== "")
  const zeros = ":0".repeat(8 - written(text).length)
  return written(text.replace("::", `${zeros}:`)).map((group) => Number.parseInt(group, 16))
}
