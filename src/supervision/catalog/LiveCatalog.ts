/**
 * The current catalog: the shared view, the view of each agent, and the last known listings.
 */
import * as Catalog from "../../domain/catalog/Catalog.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type * as ToolName from "../../domain/catalog/ToolName.js"
import * as StateCell from "../../system/stream/StateCell.js"

export interface LiveCatalog {
  readonly current: StateCell.Derived<Catalog.Catalog>
  /** The catalog with the filters of one agent. An agent without a config gets the shared catalog. */
  readonly forAgent: (agent: string | undefined) => Catalog.Catalog
  /** The catalog including the last listings of servers that are not listed now. */
  readonly lastKnown: (agent: string | undefined) => Catalog.Catalog
  readonly diagnosticsOf: (server: string) => ReadonlyArray<Diagnostic>
  /** Sets the rules for names and filters. */
  readonly configure: (rules: Rules) => void
  /**
   * Adds a server behind all others and returns the names of the servers whose diagnostics changed. The cost depends on its
   * listings and on those in which it changes the name of a tool, not on the number of other servers.
   */
  readonly admit: (server: string) => ReadonlyArray<string>
  /** Removes a server. The result and the cost are those of `admit`. */
  readonly dismiss: (server: string) => ReadonlyArray<string>
  /**
   * Reads the listings of these servers again and returns the names of the servers whose diagnostics changed. The cost
   * depends on their listings, not on the number of other servers.
   */
  readonly update: (servers: Iterable<string>) => ReadonlyArray<string>
}

export interface Rules {
  /** The servers, in the order of their entries. */
  readonly configured: ReadonlyArray<string>
  readonly tools: ToolName.Globs
  readonly agents: ReadonlyMap<string, ToolName.Globs>
}

type Merge = ReturnType<typeof Catalog.merger>

/** The catalog of one agent and the sources it was merged from. */
interface AgentView {
  /** Absent until the agent's catalog is requested. */
  merge: Merge | undefined
  sources: ReadonlyArray<Catalog.Source> | undefined
  catalog: Catalog.Catalog
}

export const make = (options: {
  /** The current listings of a server; `undefined` if it is not listed. */
  readonly source: (server: string) => Catalog.Source | undefined
  /** The last listings of all servers, whether or not they are listed now. */
  readonly allSources: () => ReadonlyArray<Catalog.Source>
  readonly onChange: (changes: ReadonlyArray<Catalog.Change>, revision: number) => void
}): LiveCatalog => {
  let rules: Omit<Rules, "configured"> = { tools: {}, agents: new Map() }
  let assembly = Catalog.assembly({ configured: [] })
  /** The current listings in the order of the servers; absent until an agent's catalog is requested. */
  let ordered: ReadonlyArray<Catalog.Source> | undefined
  let agents = new Map<string, AgentView>()
  /** The highest revision of all catalogs: the shared one and those of the agents. */
  let revision = Catalog.empty.revision
  /** The revision of the shared catalog. */
  let currentRevision = revision
  const current = StateCell.derived(() => assembly.catalog(currentRevision))

  /** The result of the last call of `lastKnown`, with its inputs. */
  let lastKnownView:
    | {
        readonly globs: ToolName.Globs | undefined
        readonly sources: ReadonlyArray<Catalog.Source>
        readonly catalog: Catalog.Catalog
      }
    | undefined

  const mergerFor = (agent?: ToolName.Globs) =>
    Catalog.merger({ configured: assembly.configured, global: rules.tools, agent })

  const orderedSources = () => (ordered ??= [...assembly.configured].flatMap((server) => assembly.source(server) ?? []))

  const publishChange = (before: Catalog.Catalog, after: Catalog.Catalog) => {
    if (Catalog.same(before, after)) return
    revision += 1
    currentRevision = revision
    current.touch()
    options.onChange(Catalog.changes(before, after), revision)
  }

  /** Publishes a change of the set of servers. Tools may have other names in every view, so each view is merged again. */
  const publishRenames = ({ after, before, remarked }: Catalog.Replaced) => {
    for (const view of agents.values()) {
      view.merge = undefined
      view.sources = undefined
    }
    lastKnownView = undefined
    ordered = undefined
    publishChange(before, after)
    return remarked
  }

  return {
    current,
    forAgent: (agent) => {
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      if (agent === undefined || globs === undefined) return current.get()
      const view = agents.get(agent) ?? { merge: undefined, sources: undefined, catalog: Catalog.empty }
      agents.set(agent, view)
      if (view.sources !== orderedSources()) {
        view.sources = orderedSources()
        const isOutdated = view.catalog.revision < currentRevision
        view.merge ??= mergerFor(globs)
        const merged = view.merge(view.sources, isOutdated ? currentRevision : revision + 1).catalog
        if (!Catalog.same(view.catalog, merged)) view.catalog = merged
        revision = Math.max(revision, view.catalog.revision)
      }
      return view.catalog
    },
    lastKnown: (agent) => {
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      const allSources = options.allSources()
      if (
        lastKnownView === undefined ||
        lastKnownView.globs !== globs ||
        !areSameSources(lastKnownView.sources, allSources)
      ) {
        lastKnownView = { globs, sources: allSources, catalog: mergerFor(globs)(allSources, currentRevision).catalog }
      }
      return lastKnownView.catalog
    },
    diagnosticsOf: (server) => assembly.diagnosticsOf(server),
    configure: ({ configured, ...next }) => {
      const before = current.get()
      rules = next
      agents = new Map(
        [...agents].flatMap(([agent, { catalog }]) => {
          const globs = next.agents.get(agent)
          return globs === undefined ? [] : [[agent, { merge: undefined, sources: undefined, catalog }]]
        })
      )
      lastKnownView = undefined
      ordered = undefined
      assembly = Catalog.assembly({ configured, global: next.tools })
      assembly.replace(new Map(configured.map((server) => [server, options.source(server)])))
      publishChange(before, assembly.catalog(revision + 1))
    },
    admit: (server) => publishRenames(assembly.admit(server, options.source(server))),
    dismiss: (server) => publishRenames(assembly.dismiss(server)),
    update: (servers) => {
      const changed = new Map<string, Catalog.Source | undefined>()
      for (const server of servers) {
        const source = options.source(server)
        if (!isSameSource(assembly.source(server), source)) changed.set(server, source)
      }
      if (changed.size === 0) return []
      ordered = undefined
      const { after, before, remarked } = assembly.replace(changed)
      publishChange(before, after)
      return remarked
    }
  }
}

const isSameSource = (before: Catalog.Source | undefined, after: Catalog.Source | undefined): boolean =>
  before === undefined || after === undefined
    ? before === after
    : before.server === after.server && before.listings === after.listings && before.tools === after.tools

const areSameSources = (before: ReadonlyArray<Catalog.Source>, after: ReadonlyArray<Catalog.Source>): boolean =>
  before.length === after.length && before.every((source, index) => isSameSource(source, after[index]))
