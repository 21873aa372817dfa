/**
 * Public names of tools, and the filters that choose among them.
 *
 * A public name depends on the server, the tool and the configured server names only: never on the order in which
 * servers appear or on which of them are up, so that what was approved or remembered by name stays true.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import { glob } from "../internal/glob.js"

/**
 * A tool as its server calls it.
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
 * Server and tool joined as people write them in filters, whatever characters they contain.
 *
 * @since 0.1.0
 * @category naming
 */
export const plain = ({ server, tool }: Ref): string => `${server}_${tool}`

/**
 * The public name of one of the supervisor's own tools.
 *
 * @since 0.1.0
 * @category naming
 */
export const ofManagement = (tool: string): string => plain({ server: managementPrefix, tool })

/**
 * Prepares naming for a set of configured servers.
 *
 * The name is `server_tool` where that is a valid name, cannot be read as a tool of another configured server (or of the
 * supervisor), and does not look like one of our hashed names. Otherwise it is a readable head with a hash of the pair
 * behind it. Two different tools have different names, but for a collision of hashes, which {@link assign} reports.
 *
 * @since 0.1.0
 * @category naming
 */
export const namer = (configured: Iterable<string>): ((ref: Ref) => string) => {
  const servers = new Set(configured)
  return (ref) => nameAmong(servers, ref)
}

/**
 * The same for one tool. For a set of servers that changes, this asks it as it is now.
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
 * What stands before each underscore of a public name: the names of the servers it may belong to, if it has no hash.
 *
 * @since 0.1.0
 * @category naming
 */
export const beginnings = (name: string): ReadonlyArray<string> => {
  // a longer name has a hash, or is none of ours
  if (name.length > maxLength) return []
  const found: Array<string> = []
  for (let end = name.indexOf("_"); end !== -1; end = name.indexOf("_", end + 1)) found.push(name.slice(0, end))
  return found
}

const hashed = (ref: Ref): string => `${headOf(plain(ref))}_${hash(ref)}`

const hashLength = 10
const headLength = maxLength - 1 - hashLength

/** The readable part of a name with a hash. A character takes two units of the name at most. */
const headOf = (name: string): string =>
  name
    .slice(0, 2 * headLength)
    .replace(invalidCharacter, "_")
    .slice(0, headLength)

/** 50 bits in ten characters. JSON keeps apart what UTF-8 would merge (lone surrogates) and where the server name ends. */
const hash = ({ server, tool }: Ref): string => {
  const digest = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest()
  const bits = digest.readUIntBE(0, 6) * 4 + (digest[6]! >> 6)
  return bits.toString(32).padStart(hashLength, "0")
}

/**
 * Whether a name carries a hash and may stand for a tool of this server. Which one, only the list of its tools can tell.
 *
 * @since 0.1.0
 * @category naming
 */
export const mayBelongTo = (name: string, server: string): boolean =>
  hashSuffix.test(name) && name.startsWith(headOf(plain({ server, tool: "" })))

/**
 * The names of a set of tools, both ways, and what could not be named.
 *
 * @since 0.1.0
 * @category models
 */
export interface Assignment {
  readonly byName: ReadonlyMap<string, Ref>
  /** Tools that ended up with the same name. None of them is listed: choosing one would call the wrong tool. */
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
  /** Gives each tool its name: {@link namer} of the configured servers. */
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
 * Glob patterns and whether what they match is offered. The last pattern that matches decides.
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
  /** On `server_tool`, for everybody. */
  readonly global?: Globs | undefined
  /** On the raw tool name, in the server's own config. */
  readonly server?: Globs | undefined
  /** On `server_tool`, for one agent. */
  readonly agent?: Globs | undefined
}

/**
 * Prepares the filters of one server: whether a tool is offered and may be called. Global patterns come first, then the
 * server's, then the agent's, and the last match wins; a tool that nothing matches is offered. Patterns see the plain
 * `server_tool` form also where the public name carries a hash.
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
 * The patterns of a filter that match none of the given names: most likely a mistake worth telling.
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
