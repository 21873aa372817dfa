/**
 * The catalog as it is now: for everybody, for each agent, and with what servers listed before they went away.
 */
import * as Catalog from "../../domain/catalog/Catalog.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type * as ToolName from "../../domain/catalog/ToolName.js"
import * as StateCell from "../../system/stream/StateCell.js"

export interface LiveCatalog {
  readonly current: StateCell.Derived<Catalog.Catalog>
  /** As one agent sees it; an agent nobody knows sees what everybody sees. */
  readonly forAgent: (agent: string | undefined) => Catalog.Catalog
  /** Also what servers listed that are not listed now. */
  readonly lastKnown: (agent: string | undefined) => Catalog.Catalog
  readonly diagnosticsOf: (server: string) => ReadonlyArray<Diagnostic>
  /** What names and filters depend on has changed. */
  readonly configure: (rules: Rules) => void
  /**
   * There is one more server, behind all others. Gives those of which something else is to be said now. The cost depends on its
   * lists and on those in which it gives tools another name, not on how many other servers there are.
   */
  readonly admit: (server: string) => ReadonlyArray<string>
  /** A server is gone. Answer and cost are those of `admit`. */
  readonly dismiss: (server: string) => ReadonlyArray<string>
  /**
   * What these servers list may have changed. Gives those of which something else is to be said now. The cost depends on
   * their lists, not on how many other servers there are.
   */
  readonly update: (servers: Iterable<string>) => ReadonlyArray<string>
}

export interface Rules {
  /** In the order in which their entries are listed. */
  readonly configured: ReadonlyArray<string>
  readonly tools: ToolName.Globs
  readonly agents: ReadonlyMap<string, ToolName.Globs>
}

type Merge = ReturnType<typeof Catalog.merger>

/** What one agent sees, and of which sources. */
interface View {
  /** Absent until the agent asks. */
  merge: Merge | undefined
  sources: ReadonlyArray<Catalog.Source> | undefined
  catalog: Catalog.Catalog
}

export const make = (options: {
  /** What a server lists now. */
  readonly source: (server: string) => Catalog.Source | undefined
  /** What was listed last, by servers that are listed now and by others. */
  readonly allSources: () => ReadonlyArray<Catalog.Source>
  readonly onChange: (changes: ReadonlyArray<Catalog.Change>, revision: number) => void
}): LiveCatalog => {
  let rules: Omit<Rules, "configured"> = { tools: {}, agents: new Map() }
  let assembly = Catalog.assembly({ configured: [] })
  /** What is listed now, in the order of the servers; absent until an agent asks for it. */
  let ordered: ReadonlyArray<Catalog.Source> | undefined
  let agents = new Map<string, View>()
  /** The newest of all catalogs, everybody's and the agents'. */
  let revision = Catalog.empty.revision
  /** Everybody's. */
  let currentRevision = revision
  const current = StateCell.derived(() => assembly.catalog(currentRevision))

  /** The last answer to what was listed before. */
  let known:
    | {
        readonly globs: ToolName.Globs | undefined
        readonly sources: ReadonlyArray<Catalog.Source>
        readonly catalog: Catalog.Catalog
      }
    | undefined

  const mergerFor = (agent?: ToolName.Globs) =>
    Catalog.merger({ configured: assembly.configured, global: rules.tools, agent })

  const inOrder = () => (ordered ??= [...assembly.configured].flatMap((server) => assembly.source(server) ?? []))

  const tell = (before: Catalog.Catalog, after: Catalog.Catalog) => {
    if (Catalog.same(before, after)) return
    revision += 1
    currentRevision = revision
    current.touch()
    options.onChange(Catalog.changes(before, after), revision)
  }

  /** The names of tools may be others in every view, also where everybody sees none of them. */
  const renamed = ({ after, before, remarked }: Catalog.Replaced) => {
    for (const view of agents.values()) {
      view.merge = undefined
      view.sources = undefined
    }
    known = undefined
    ordered = undefined
    tell(before, after)
    return remarked
  }

  return {
    current,
    forAgent: (agent) => {
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      if (agent === undefined || globs === undefined) return current.get()
      const view = agents.get(agent) ?? { merge: undefined, sources: undefined, catalog: Catalog.empty }
      agents.set(agent, view)
      if (view.sources !== inOrder()) {
        view.sources = inOrder()
        const isBehind = view.catalog.revision < currentRevision
        view.merge ??= mergerFor(globs)
        const merged = view.merge(view.sources, isBehind ? currentRevision : revision + 1).catalog
        if (!Catalog.same(view.catalog, merged)) view.catalog = merged
        revision = Math.max(revision, view.catalog.revision)
      }
      return view.catalog
    },
    lastKnown: (agent) => {
      const globs = agent === undefined ? undefined : rules.agents.get(agent)
      const all = options.allSources()
      if (known === undefined || known.globs !== globs || !areSame(known.sources, all)) {
        known = { globs, sources: all, catalog: mergerFor(globs)(all, currentRevision).catalog }
      }
      return known.catalog
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
      known = undefined
      ordered = undefined
      assembly = Catalog.assembly({ configured, global: next.tools })
      assembly.replace(new Map(configured.map((server) => [server, options.source(server)])))
      tell(before, assembly.catalog(revision + 1))
    },
    admit: (server) => renamed(assembly.admit(server, options.source(server))),
    dismiss: (server) => renamed(assembly.dismiss(server)),
    update: (servers) => {
      const changed = new Map<string, Catalog.Source | undefined>()
      for (const server of servers) {
        const source = options.source(server)
        if (!isSame(assembly.source(server), source)) changed.set(server, source)
      }
      if (changed.size === 0) return []
      ordered = undefined
      const { after, before, remarked } = assembly.replace(changed)
      tell(before, after)
      return remarked
    }
  }
}

const isSame = (before: Catalog.Source | undefined, after: Catalog.Source | undefined): boolean =>
  before === undefined || after === undefined
    ? before === after
    : before.server === after.server && before.listings === after.listings && before.tools === after.tools

const areSame = (before: ReadonlyArray<Catalog.Source>, after: ReadonlyArray<Catalog.Source>): boolean =>
  before.length === after.length && before.every((source, index) => isSame(source, after[index]))
