/**
 * Computes public names of tools, and filters tools by patterns.
 *
 * A public name depends only on the server, the tool and the configured server names, not on the order of the servers or on which of
 * them are connected. So approvals and references by name stay valid.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import { glob } from "../internal/glob.js"

/**
 * A tool by the name that its server uses.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ref {
  readonly server: string
  readonly tool: string
}

/**
 * The prefix of the supervisor's own management tools. A server may have the same name: its tools then get a hash.
 *
 * @since 0.1.0
 * @category constants
 */
export const managementPrefix = "supervisor"

const maxLength = 64
const valid = /^[A-Za-z0-9_-]{1,64}$/
const invalidCharacter = /[^A-Za-z0-9_-]/gu
const hashSuffix = /_[0-9a-v]{10}$/

/**
 * Server and tool joined as in filters, with any characters.
 *
 * @since 0.1.0
 * @category naming
 */
export const plain = ({ server, tool }: Ref): string => `${server}_${tool}`

/**
 * The public name of a management tool of the supervisor.
 *
 * @since 0.1.0
 * @category naming
 */
export const ofManagement = (tool: string): string => plain({ server: managementPrefix, tool })

/**
 * Creates a naming function for a set of configured servers.
 *
 * The name is `server_tool` if that is a valid name, cannot mean a tool of another configured server (or of the supervisor), and does
 * not look like a name with a hash. Otherwise it is a readable beginning with a hash of server and tool. Two different tools have
 * different names, except in a collision of hashes, which {@link assign} reports.
 *
 * @since 0.1.0
 * @category naming
 */
export const namer = (configured: Iterable<string>): ((ref: Ref) => string) => {
  const servers = new Set(configured)
  return (ref) => nameAmong(servers, ref)
}

/**
 * The public name of one tool, for the current content of a set of servers. See {@link namer}.
 *
 * @since 0.1.0
 * @category naming
 */
export const nameAmong = (configured: Pick<ReadonlySet<string>, "has">, ref: Ref): string => {
  const name = plain(ref)
  const isOther = (server: string) => server === managementPrefix || (server !== ref.server && configured.has(server))
  return valid.test(name) && !beginnings(name).some(isOther) && !hashSuffix.test(name) ? name : hashed(ref)
}

/**
 * The text before each underscore of a public name. Without a hash, the tool belongs to a server with one of these names.
 *
 * @since 0.1.0
 * @category naming
 */
export const beginnings = (name: string): ReadonlyArray<string> => {
  // a longer name has a hash, or is no public name
  if (name.length > maxLength) return []
  const found: Array<string> = []
  for (let end = name.indexOf("_"); end !== -1; end = name.indexOf("_", end + 1)) found.push(name.slice(0, end))
  return found
}

const hashed = (ref: Ref): string => `${headOf(plain(ref))}_${hash(ref)}`

const hashLength = 10
const headLength = maxLength - 1 - hashLength

/** The readable part of a name with a hash. A character has at most two UTF-16 units. */
const headOf = (name: string): string =>
  name
    .slice(0, 2 * headLength)
    .replace(invalidCharacter, "_")
    .slice(0, headLength)

/** 50 bits in ten characters. JSON distinguishes lone surrogates, which UTF-8 would merge, and marks the end of the server name. */
const hash = ({ server, tool }: Ref): string => {
  const digest = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest()
  const bits = digest.readUIntBE(0, 6) * 4 + (digest[6]! >> 6)
  return bits.toString(32).padStart(hashLength, "0")
}

/**
 * Whether a name has a hash and can belong to a tool of this server. Only the list of tools shows which one.
 *
 * @since 0.1.0
 * @category naming
 */
export const mayBelongTo = (name: string, server: string): boolean =>
  hashSuffix.test(name) && name.startsWith(headOf(plain({ server, tool: "" })))

/**
 * The names of a set of tools, in both directions, and the collisions.
 *
 * @since 0.1.0
 * @category models
 */
export interface Assignment {
  readonly byName: ReadonlyMap<string, Ref>
  /** Tools with the same name. None of them is listed, because a call could reach the wrong tool. */
  readonly collisions: ReadonlyArray<{ readonly name: string; readonly refs: ReadonlyArray<Ref> }>
}

/**
 * Names all tools of a catalog. A pair given twice counts once.
 *
 * @since 0.1.0
 * @category naming
 */
export const assign = (
  refs: Iterable<Ref>,
  /** The name of each tool, usually by {@link namer}. */
  nameOf: (ref: Ref) => string
): Assignment => {
  const claims = new Map<string, Array<Ref>>()
  for (const ref of refs) {
    const name = nameOf(ref)
    const claim = claims.get(name)
    if (claim === undefined) claims.set(name, [ref])
    else if (!claim.some((other) => other.server === ref.server && other.tool === ref.tool)) claim.push(ref)
  }
  const unique = (claim: ReadonlyArray<Ref>) => claim.length === 1
  return {
    byName: new Map([...claims].filter(([, claim]) => unique(claim)).map(([name, claim]) => [name, claim[0]!])),
    collisions: [...claims].filter(([, claim]) => !unique(claim)).map(([name, claim]) => ({ name, refs: claim }))
  }
}

/**
 * Glob patterns, each with whether it offers or hides the tools that it matches. The last matching pattern decides.
 *
 * @since 0.1.0
 * @category filters
 */
export type Globs = Readonly<Record<string, boolean>>

/**
 * The filters that apply to one server's tools for one agent.
 *
 * @since 0.1.0
 * @category filters
 */
export interface Filters {
  /** On `server_tool`, for all agents. */
  readonly global?: Globs | undefined
  /** On the raw tool name, in the server's own config. */
  readonly server?: Globs | undefined
  /** On `server_tool`, for one agent. */
  readonly agent?: Globs | undefined
}

/**
 * Compiles the filters of one server to a predicate: whether a tool is offered and can be called. Global patterns come first, then
 * the server's, then the agent's, and the last match wins. A tool that no pattern matches is offered. Patterns match the plain
 * `server_tool` form even if the public name has a hash.
 *
 * @since 0.1.0
 * @category filters
 */
export const filter = (filters: Filters): ((ref: Ref) => boolean) => {
  const rules = [
    ...rulesOf(filters.global, plain),
    ...rulesOf(filters.server, (ref) => ref.tool),
    ...rulesOf(filters.agent, plain)
  ]
  return (ref) => rules.findLast((rule) => rule.matches(ref))?.enabled ?? true
}

/**
 * The patterns of a filter that match none of the given names, which is most likely a mistake.
 *
 * @since 0.1.0
 * @category filters
 */
export const unmatched = (globs: Globs, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(globs).filter((pattern) => !names.some(glob(pattern)))

const rulesOf = (globs: Globs | undefined, subject: (ref: Ref) => string) =>
  Object.entries(globs ?? {}).map(([pattern, enabled]) => {
    const matches = glob(pattern)
    return { enabled, matches: (ref: Ref) => matches(subject(ref)) }
  })
