/**
 * Updates a catalog one server at a time.
 */
import type { Diagnostic } from "../../Diagnostic.js"
import type { Tool } from "../Protocol.js"
import { beginnings } from "../ToolName.js"
import {
  distinct,
  type Maker,
  makerOf,
  type Options,
  type ServerPart,
  reportsOf,
  rulesOf,
  type Source
} from "./merger.js"
import type { Catalog } from "./model.js"

/**
 * The result of a change of some servers or of their listings.
 *
 * @since 0.1.0
 * @category merging
 */
export interface Replaced {
  /** The part of the catalog that may have changed, before the change. It contains all affected servers. */
  readonly before: Catalog
  /** That part after the change. */
  readonly after: Catalog
  /** The servers whose diagnostics changed. */
  readonly remarked: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category merging
 */
export interface Assembly {
  /** The names of all configured servers, in the order of their entries in the catalog. A live view. */
  readonly configured: ReadonlySet<string>
  /** The listing of a server, with its filters. */
  readonly source: (server: string) => Source | undefined
  /**
   * Adds a server after all others. Tools of other servers whose public name could mean one of its tools are renamed.
   */
  readonly admit: (server: string, source: Source | undefined) => Replaced
  /** Removes a server with its listing. Tools of other servers that were renamed for it get their plain name back. */
  readonly dismiss: (server: string) => Replaced
  /** Replaces the listings of some servers. Undefined removes the listing of a server. */
  readonly replace: (next: ReadonlyMap<string, Source | undefined>) => Replaced
  /** Builds the whole catalog. */
  readonly catalog: (revision: number) => Catalog
  readonly diagnosticsOf: (server: string) => ReadonlyArray<Diagnostic>
}

/**
 * Creates an assembly. Its catalog equals the one of {@link merger}, in the order of the configured servers. A change processes only
 * the changed server, the servers with which it shares public names, and those whose tools it renames. Only `catalog` processes all
 * servers.
 *
 * @since 0.1.0
 * @category merging
 */
export const assembly = (options: Options): Assembly => {
  const configured = new Set(options.configured)
  const positions = new Map(Array.from(configured, (server, position) => [server, position]))
  /** The position of the next server. Positions of removed servers are not reused. */
  let nextPosition = configured.size
  const rules = rulesOf(configured, options)
  /** The listings from which the parts were built. */
  const sources = new Map<string, Source>()
  /** The servers in `sources`, by each text before an underscore in their name. */
  const byBeginning = new Map<string, Set<string>>()
  /** One for each server with a listing. */
  const makers = new Map<string, Maker>()
  const parts = new Map<string, ServerPart>()
  /** The tools by public name. More than one is a collision, or a tool that is listed twice. */
  const claims = new Map<string, ReadonlyArray<Tool>>()

  const inOrder = (servers: Iterable<string>): ReadonlyArray<string> =>
    [...servers].sort((a, b) => positions.get(a)! - positions.get(b)!)

  /** The tools with this name in the order of their servers, which is also the order in reports. */
  const claimOf = (name: string): ReadonlyArray<Tool> =>
    claims.get(name)!.toSorted((a, b) => positions.get(a.server)! - positions.get(b.server)!)

  const isContested = ({ name }: Tool): boolean => claims.get(name)!.length > 1

  const offered = ({ tools }: ServerPart): ReadonlyArray<Tool> => {
    if (!tools.some(isContested)) return tools
    return tools.filter(
      (tool, index) =>
        !isContested(tool) || (distinct(claimOf(tool.name)).tools[0] === tool && tools.indexOf(tool) === index)
    )
  }

  const listsOf = (servers: Iterable<string>, revision: number): Catalog => {
    const listed = inOrder(servers).flatMap((server) => parts.get(server) ?? [])
    return {
      revision,
      tools: listed.flatMap(offered),
      resources: listed.flatMap((part) => part.resources),
      resourceTemplates: listed.flatMap((part) => part.resourceTemplates),
      prompts: listed.flatMap((part) => part.prompts)
    }
  }

  const diagnosticsOf = (server: string): ReadonlyArray<Diagnostic> => {
    const part = parts.get(server)
    if (part === undefined) return []
    const contested = new Set(part.tools.filter(isContested).map(({ name }) => name))
    const collisions = [...contested].flatMap((name) => distinct(claimOf(name)).collisions).flatMap(reportsOf)
    return [...part.reports, ...collisions].filter(([each]) => each === server).map(([, diagnostic]) => diagnostic)
  }

  const makerFor = (server: string): Maker => {
    const maker = makers.get(server) ?? makerOf(server, rules)
    makers.set(server, maker)
    return maker
  }

  const withdraw = (server: string) => {
    for (const { name } of parts.get(server)?.tools ?? []) {
      const others = (claims.get(name) ?? []).filter((tool) => tool.server !== server)
      if (others.length === 0) claims.delete(name)
      else claims.set(name, others)
    }
    parts.delete(server)
    sources.delete(server)
    for (const beginning of beginnings(server)) {
      const others = byBeginning.get(beginning)
      others?.delete(server)
      if (others?.size === 0) byBeginning.delete(beginning)
    }
  }

  const contribute = (source: Source, part: ServerPart) => {
    const { server } = source
    parts.set(server, part)
    sources.set(server, source)
    for (const tool of part.tools) claims.set(tool.name, [...(claims.get(tool.name) ?? []), tool])
    for (const beginning of beginnings(server)) {
      byBeginning.set(beginning, (byBeginning.get(beginning) ?? new Set()).add(server))
    }
  }

  const replace: Assembly["replace"] = (next) => {
    const made = [...next.values()].flatMap((source) =>
      source === undefined ? [] : [[source, makerFor(source.server)(source)] as const]
    )
    const concerned = new Set(next.keys())
    const lists = [...Array.from(concerned, (server) => parts.get(server)), ...made.map(([, part]) => part)]
    for (const list of lists) {
      for (const { name } of list?.tools ?? []) for (const { server } of claims.get(name) ?? []) concerned.add(server)
    }
    const before = listsOf(concerned, 0)
    const remarks = Array.from(concerned, (server) => [server, JSON.stringify(diagnosticsOf(server))] as const)
    for (const [server, source] of next) {
      withdraw(server)
      // the public names that it cached may be outdated when the server lists something again
      if (source === undefined) makers.delete(server)
    }
    for (const [source, part] of made) contribute(source, part)
    return {
      before,
      after: listsOf(concerned, 0),
      remarked: remarks.flatMap(([server, text]) => (JSON.stringify(diagnosticsOf(server)) === text ? [] : [server]))
    }
  }

  /**
   * The servers whose public names can change when a server with this name is added or removed: one name is the other one plus
   * an underscore and more text. Discards their cached parts.
   */
  const renamedBy = (name: string): ReadonlyArray<readonly [string, Source]> =>
    [...beginnings(name), ...(byBeginning.get(name) ?? [])].flatMap((server) => {
      const source = sources.get(server)
      if (source === undefined) return []
      makers.delete(server)
      return [[server, source]]
    })

  return {
    configured,
    source: (server) => sources.get(server),
    admit: (server, source) => {
      configured.add(server)
      positions.set(server, nextPosition)
      nextPosition += 1
      return replace(new Map([...renamedBy(server), [server, source]]))
    },
    dismiss: (server) => {
      configured.delete(server)
      const replaced = replace(new Map<string, Source | undefined>([...renamedBy(server), [server, undefined]]))
      positions.delete(server)
      return replaced
    },
    replace,
    catalog: (revision) => listsOf(parts.keys(), revision),
    diagnosticsOf
  }
}
