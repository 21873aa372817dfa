/**
 * The catalog as it is now: for everybody, for each agent, and with what servers listed before they went away.
 */
import * as Catalog from "../domain/Catalog.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import type * as ToolName from "../domain/ToolName.js"
import * as Cell from "./Cell.js"

export interface CatalogBook {
  readonly current: Cell.Cell<Catalog.Catalog>
  /** As one agent sees it; an agent nobody knows sees what everybody sees. */
  readonly forAgent: (agent: string | undefined) => Catalog.Catalog
  /** Also what servers listed that are not listed now. */
  readonly lastKnown: (agent: string | undefined) => Catalog.Catalog
  readonly diagnosticsOf: (server: string) => ReadonlyArray<Diagnostic>
  /** What names and filters depend on has changed. */
  readonly configure: (rules: Rules) => void
  /** What servers list may have changed. Gives those of which something else is to be said now. */
  readonly update: () => ReadonlyArray<string>
}

export interface Rules {
  readonly configured: ReadonlyArray<string>
  readonly tools: ToolName.Globs
  readonly agents: ReadonlyMap<string, ToolName.Globs>
}

type Merge = ReturnType<typeof Catalog.merger>

/** What one agent sees, and of which sources. */
interface View {
  readonly merge: Merge
  sources: ReadonlyArray<Catalog.Source> | undefined
  catalog: Catalog.Catalog
}

export const make = (options: {
  /** What is listed now, in the order of the servers. */
  readonly sources: () => ReadonlyArray<Catalog.Source>
  /** What was listed last, by servers that are listed now and by others. */
  readonly allSources: () => ReadonlyArray<Catalog.Source>
  readonly onChange: (changes: ReadonlyArray<Catalog.Change>, revision: number) => void
}): CatalogBook => {
  const current = Cell.make(Catalog.empty)
  let rules: Rules = { configured: [], tools: {}, agents: new Map() }
  let merge: Merge = Catalog.merger({ configured: [] })
  let sources: ReadonlyArray<Catalog.Source> = []
  let diagnostics: Catalog.Merged["diagnostics"] = new Map()
  let agents = new Map<string, View>()
  /** The newest of all catalogs, everybody's and the agents'. */
  let revision = current.get().revision

  /** The last answer to what was listed before. */
  let known:
    | {
        readonly globs: ToolName.Globs | undefined
        readonly sources: ReadonlyArray<Catalog.Source>
        readonly catalog: Catalog.Catalog
      }
    | undefined

  const mergerFor = (agent?: ToolName.Globs) =>
    Catalog.merger({ configured: rules.configured, global: rules.tools, agent })

  const rebuild = () => {
    const before = current.get()
    const merged = merge(sources, revision + 1)
    diagnostics = merged.diagnostics
    if (Catalog.same(before, merged.catalog)) return
    revision += 1
    current.set(merged.catalog)
    options.onChange(Catalog.changes(before, merged.catalog), merged.catalog.revision)
  }

  return {
    current,
    forAgent: (agent) => {
      const catalog = current.get()
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      if (agent === undefined || globs === undefined) return catalog
      const view = agents.get(agent) ?? { merge: mergerFor(globs), sources: undefined, catalog: Catalog.empty }
      agents.set(agent, view)
      if (view.sources !== sources) {
        view.sources = sources
        const isBehind = view.catalog.revision < catalog.revision
        const merged = view.merge(sources, isBehind ? catalog.revision : revision + 1).catalog
        if (!Catalog.same(view.catalog, merged)) view.catalog = merged
        revision = Math.max(revision, view.catalog.revision)
      }
      return view.catalog
    },
    lastKnown: (agent) => {
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      const all = options.allSources()
      if (known === undefined || known.globs !== globs || !isSame(known.sources, all)) {
        known = { globs, sources: all, catalog: mergerFor(globs)(all, current.get().revision).catalog }
      }
      return known.catalog
    },
    diagnosticsOf: (server) => diagnostics.get(server) ?? [],
    configure: (next) => {
      rules = next
      merge = mergerFor()
      agents = new Map(
        [...agents].flatMap(([agent, { catalog }]) => {
          const globs = next.agents.get(agent)
          return globs === undefined ? [] : [[agent, { merge: mergerFor(globs), sources: undefined, catalog }]]
        })
      )
      known = undefined
      sources = options.sources()
      rebuild()
    },
    update: () => {
      const next = options.sources()
      if (isSame(sources, next)) return []
      sources = next
      const before = diagnostics
      rebuild()
      return [...new Set([...before.keys(), ...diagnostics.keys()])].filter(
        (server) => textOf(before.get(server)) !== textOf(diagnostics.get(server))
      )
    }
  }
}

const textOf = (diagnostics: ReadonlyArray<Diagnostic> = []): string =>
  diagnostics.map(({ message }) => message).join("\n")

const isSame = (before: ReadonlyArray<Catalog.Source>, after: ReadonlyArray<Catalog.Source>): boolean =>
  before.length === after.length &&
  before.every(({ listings, server, tools }, index) => {
    const other = after[index]!
    return server === other.server && listings === other.listings && tools === other.tools
  })
