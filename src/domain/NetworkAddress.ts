/**
 * Where an address leads, and where a server may lead us. The names and addresses in OAuth documents are chosen by the server,
 * so they decide nothing until they are judged here.
 */

/** How near to us an address is, from far to near: the internet, a private network, the link, this machine. */
export type Zone = "public" | "private" | "link" | "machine"

/** A larger number is nearer. */
const nearness: Readonly<Record<Zone, number>> = { public: 0, private: 1, link: 2, machine: 3 }

/** Which addresses a server may name. */
export interface Policy {
  /** The origins that the config itself names. Requests to them need no permission. */
  readonly configured: ReadonlySet<string>
  /** The nearest zone that all other addresses may be in. */
  readonly nearest: Zone
}

/**
 * - `allowed`: a request may be sent.
 * - `unencrypted`: it has to be https.
 * - `too_near`: it leads into a network, or to a machine, that the server has no access to by itself.
 */
export type Verdict = "allowed" | "unencrypted" | "too_near"

/**
 * The policy for a server at this address. The server may name addresses as near as its own, and none that are nearer.
 */
export const policyFor = (options: {
  readonly url: string
  /** Further addresses that the config names. */
  readonly configured?: ReadonlyArray<string> | undefined
  readonly privateNetwork: boolean
}): Policy => {
  const { configured = [], privateNetwork, url } = options
  const named = [url, ...configured].filter((each) => URL.canParse(each)).map((each) => new URL(each))
  const own = URL.canParse(url) ? zoneOfHost(new URL(url).hostname) : undefined
  return {
    configured: new Set(named.map(({ origin }) => origin)),
    // a name that only the DNS can judge is public: the answer of the DNS is the server's choice, too
    nearest: privateNetwork ? "machine" : (own ?? "public")
  }
}

/** Whether a request may be sent. `undefined` where that depends on the address the name resolves to. */
export const judge = (policy: Policy, url: URL): Verdict | undefined => {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "unencrypted"
  if (policy.configured.has(url.origin)) return "allowed"
  const zone = zoneOfHost(url.hostname)
  const verdict = zone === undefined ? undefined : judgeZone(policy, url.protocol, zone)
  // a name of a private network may still resolve to this machine
  if (verdict !== undefined && (verdict !== "allowed" || zone !== "private" || isLiteral(url.hostname))) return verdict
  // no address would be allowed
  return url.protocol === "http:" && policy.nearest === "public" ? "unencrypted" : undefined
}

/** The same for an address that a name resolved to. */
export const judgeAddress = (policy: Policy, protocol: string, address: string): Verdict =>
  judgeZone(policy, protocol, zoneOfAddress(address))

const judgeZone = ({ nearest }: Policy, protocol: string, zone: Zone): Verdict => {
  if (nearness[zone] > nearness[nearest]) return "too_near"
  return protocol === "https:" || zone !== "public" ? "allowed" : "unencrypted"
}

const isLiteral = (hostname: string): boolean => hostname.startsWith("[") || /^[\d.]+$/.test(hostname)

/** Names that never lead to the internet (RFC 6761, 6762, 8375, and what private networks use). */
const privateSuffix = /\.(?:local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** The zone of a host as the URL parser writes it. `undefined` for a name that only the DNS can judge. */
export const zoneOfHost = (hostname: string): Zone | undefined => {
  const host = hostname.toLowerCase().replace(/\.$/, "")
  if (isLiteral(host)) return zoneOfAddress(host.replace(/[[\]]/g, ""))
  if (host === "localhost" || host.endsWith(".localhost")) return "machine"
  return !host.includes(".") || privateSuffix.test(host) ? "private" : undefined
}

/**
 * Whether a host, with or without the brackets of a URL, is reached from this machine alone. The zone says less: `0.0.0.0` leads
 * to this machine, but what listens there is reached from everywhere.
 */
export const isLoopback = (hostname: string): boolean => {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "")
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The zone of an IPv4 or IPv6 address. What cannot be read counts as this machine. */
export const zoneOfAddress = (address: string): Zone => {
  const plain = address.replace(/%.*/s, "")
  // the URL parser knows every spelling: hexadecimal, octal, one number, an IPv4 address within an IPv6 address
  const text = `http://${plain.includes(":") ? `[${plain}]` : plain}/`
  if (!URL.canParse(text)) return "machine"
  const host = new URL(text).hostname
  if (host.startsWith("[")) return zoneOfIPv6(groupsOf(host.slice(1, -1)))
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) ? zoneOfIPv4(host.split(".").map(Number)) : "machine"
}

/** The first bytes, the number of bits that count, and where that leads. */
type Range = readonly [start: ReadonlyArray<number>, bits: number, zone: Zone]

const ipv4: ReadonlyArray<Range> = [
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

const ipv6: ReadonlyArray<Range> = [
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
  // unique local, site local, and what is not assigned
  return zoneIn(ipv6, bytes) ?? "private"
}

/** Where an IPv4 address stands in one that only carries it: compatible, mapped, translated, NAT64, 6to4. */
const embeddedIPv4 = (groups: ReadonlyArray<number>): number | undefined => {
  if (groups[0] === 0x2002) return 2
  const prefix = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(":")
  return ["0:0:0:0:0:0", "0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"].includes(prefix) ? 12 : undefined
}

const zoneIn = (ranges: ReadonlyArray<Range>, bytes: ReadonlyArray<number>): Zone | undefined =>
  ranges.find(([start, bits]) =>
    start.every((byte, index) => {
      const unused = Math.min(8, Math.max(0, (index + 1) * 8 - bits))
      return bytes[index]! >> unused === byte >> unused
    })
  )?.[2]

/** The eight groups of an address as the URL parser writes it. */
const groupsOf = (text: string): ReadonlyArray<number> => {
  const written = (part: string) => part.split(":").filter((group) => group !== "")
  const zeros = ":0".repeat(8 - written(text).length)
  return written(text.replace("::", `${zeros}:`)).map((group) => Number.parseInt(group, 16))
}
