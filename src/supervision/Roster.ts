/**
 * The servers there are, and all that is shown of them: their snapshots, the merged catalog, and the news about both.
 */
import type * as Catalog from "../domain/Catalog.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import { nearest } from "../domain/nearest.js"
import { ServerNotFound } from "../domain/Errors.js"
import type { ServerSnapshot } from "../domain/ServerSnapshot.js"
import * as CatalogBook from "./CatalogBook.js"
import * as Cell from "./Cell.js"
import type { EventLog } from "./EventLog.js"
import type { ServerActor } from "./ServerActor.js"
import { isSame, snapshotOf } from "./snapshot.js"

export interface Roster {
  readonly snapshots: Cell.Cell<ReadonlyArray<ServerSnapshot>>
  readonly catalog: CatalogBook.CatalogBook
  readonly get: (name: string) => ServerActor | undefined
  readonly all: () => ReadonlyArray<ServerActor>
  readonly notFound: (name: string) => ServerNotFound
  /** Puts other servers, or the same in another order, in place of those there are. */
  readonly set: (actors: ReadonlyArray<ServerActor>, rules: Omit<CatalogBook.Rules, "configured">) => void
  /** Something about a server may look different now. One that is not in the roster is not looked at. */
  readonly changed: (actor: ServerActor) => void
  /** Shows that nothing is left, and ends all that is told. */
  readonly end: () => void
}

export const make = (events: EventLog): Roster => {
  let actors: ReadonlyMap<string, ServerActor> = new Map()
  /** What was already told about each server. */
  const told = new Map<string, ReadonlySet<string>>()
  const shown = new Map<string, ServerSnapshot>()
  const snapshots = Cell.make<ReadonlyArray<ServerSnapshot>>([])

  const catalog = CatalogBook.make({
    sources: () => [...actors.values()].flatMap((actor) => actor.source() ?? []),
    allSources: () =>
      [...actors.values()].flatMap((actor): ReadonlyArray<Catalog.Source> => {
        const listings = actor.known()
        const tools = actor.definition().config?.tools ?? {}
        return listings === undefined ? [] : [{ server: actor.name, listings, tools }]
      }),
    onChange: (changes, revision) => {
      for (const change of changes) events.publish({ type: "CatalogChanged", revision, ...change })
    }
  })

  const tell = (server: string, diagnostics: ReadonlyArray<Diagnostic>) => {
    const before = told.get(server)
    const now = new Set(diagnostics.map(({ message }) => message))
    told.set(server, now)
    for (const diagnostic of diagnostics) {
      if (!before?.has(diagnostic.message)) events.publish({ type: "Diagnostic", server, diagnostic })
    }
  }

  /** Whether it looks different from before. */
  const show = (actor: ServerActor): boolean => {
    const next = snapshotOf(actor, catalog.diagnosticsOf(actor.name))
    const before = shown.get(actor.name)
    if (before !== undefined && isSame(before, next)) return false
    shown.set(actor.name, next)
    if (before?.diagnostics.length !== 0 || next.diagnostics.length > 0) tell(actor.name, next.diagnostics)
    return true
  }

  const publish = () => snapshots.set([...actors.keys()].map((name) => shown.get(name)!))

  const set: Roster["set"] = (next, rules) => {
    actors = new Map(next.map((actor) => [actor.name, actor]))
    for (const name of shown.keys()) {
      if (actors.has(name)) continue
      shown.delete(name)
      told.delete(name)
    }
    catalog.configure({ ...rules, configured: [...actors.keys()] })
    for (const actor of actors.values()) show(actor)
    publish()
  }

  return {
    snapshots,
    catalog,
    get: (name) => actors.get(name),
    all: () => [...actors.values()],
    notFound: (server) => new ServerNotFound({ server, nearest: nearest(server, actors.keys()) }),
    set,
    changed: (actor) => {
      if (actors.get(actor.name) !== actor) return
      // what one server lists may take its name from a tool of another
      const others = catalog.update().flatMap((name) => (name === actor.name ? [] : (actors.get(name) ?? [])))
      if ([actor, ...others].map(show).includes(true)) publish()
    },
    end: () => {
      set([], { tools: {}, agents: new Map() })
      snapshots.end()
      catalog.current.end()
    }
  }
}
