/**
 * A catalog that is kept up to date one server at a time.
 */
import type { Diagnostic } from "../Diagnostic.js"
import type { Tool } from "../Protocol.js"
import { distinct, type Maker, makerOf, type Options, type Part, reportsOf, rulesOf, type Source } from "./merger.js"
import type { Catalog } from "./model.js"

/**
 * What a change of some servers' lists did.
 *
 * @since 0.1.0
 * @category merging
 */
export interface Replaced {
  /** The part of the catalog that may have changed, as it was. It covers all servers that the change concerns. */
  readonly before: Catalog
  /** The same part, as it is now. */
  readonly after: Catalog
  /** Servers whose diagnostics are different now. */
  readonly remarked: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category merging
 */
export interface Assembly {
  /** Puts other lists in place of those that some servers had; undefined for a server that lists nothing any more. */
  readonly replace: (next: ReadonlyMap<string, Source | undefined>) => Replaced
  /** The whole catalog, put together now. */
  readonly catalog: (revision: number) => Catalog
  readonly diagnosticsOf: (server: string) => ReadonlyArray<Diagnostic>
}

/**
 * The same catalog as {@link merger} makes, in the order of the configured servers. To replace the lists of one server costs
 * the work for that server and for those it shares public names with, however many others there are. Only `catalog` walks
 * over all of them.
 *
 * @since 0.1.0
 * @category merging
 */
export const assembly = (options: Options): Assembly => {
  const configured = [...options.configured]
  const positions = new Map(configured.map((server, position) => [server, position]))
  const rules = rulesOf({ ...options, configured })
  const makers = new Map<string, Maker>()
  const parts = new Map<string, Part>()
  /** The tools that have a public name; more than one is a collision, or a tool that is listed twice. */
  const claims = new Map<string, ReadonlyArray<Tool>>()

  const inOrder = (servers: Iterable<string>): ReadonlyArray<string> =>
    [...servers].sort((a, b) => positions.get(a)! - positions.get(b)!)

  /** In the order of the servers: it decides which name a report gives first. */
  const claimOf = (name: string): ReadonlyArray<Tool> =>
    claims.get(name)!.toSorted((a, b) => positions.get(a.server)! - positions.get(b.server)!)

  const isContested = ({ name }: Tool): boolean => claims.get(name)!.length > 1

  const offered = ({ tools }: Part): ReadonlyArray<Tool> => {
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
  }

  const contribute = (server: string, part: Part) => {
    parts.set(server, part)
    for (const tool of part.tools) claims.set(tool.name, [...(claims.get(tool.name) ?? []), tool])
  }

  return {
    replace: (next) => {
      const made = Array.from(next).flatMap(([server, source]) =>
        source === undefined ? [] : [[server, makerFor(server)(source)] as const]
      )
      const concerned = new Set(next.keys())
      const lists = [...Array.from(concerned, (server) => parts.get(server)), ...made.map(([, part]) => part)]
      for (const list of lists) {
        for (const { name } of list?.tools ?? []) for (const { server } of claims.get(name) ?? []) concerned.add(server)
      }
      const before = listsOf(concerned, 0)
      const remarks = Array.from(concerned, (server) => [server, textOf(diagnosticsOf(server))] as const)
      for (const server of next.keys()) withdraw(server)
      for (const [server, part] of made) contribute(server, part)
      return {
        before,
        after: listsOf(concerned, 0),
        remarked: remarks.flatMap(([server, text]) => (textOf(diagnosticsOf(server)) === text ? [] : [server]))
      }
    },
    catalog: (revision) => listsOf(parts.keys(), revision),
    diagnosticsOf
  }
}

const textOf = (diagnostics: ReadonlyArray<Diagnostic>): string => diagnostics.map(({ message }) => message).join("\n")
