/**
 * Holds the servers of a supervisor, and publishes their snapshots, the merged catalog, and events about both. A change of one
 * server takes the same time for any number of other servers.
 */
import type * as Catalog from "../../domain/catalog/Catalog.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { nearest } from "../../domain/internal/nearest.js"
import { ServerNotFound } from "../../domain/Errors.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"
import * as ToolName from "../../domain/catalog/ToolName.js"
import * as LiveCatalog from "../catalog/LiveCatalog.js"
import * as StateCell from "../../system/stream/StateCell.js"
import type { Definition } from "./Definition.js"
import type { EventLog } from "../EventLog.js"
import * as Metrics from "../metrics.js"
import { scrubName } from "../scrubName.js"
import type { ServerActor } from "../actor/ServerActor.js"
import * as Settling from "../actor/Settling.js"
import { inactiveSnapshotOf, isSame, snapshotOf } from "./snapshot.js"

/** The actor of a server, or the definition of an inactive server: disabled or not trusted, and never used so far. */
export type Member = ServerActor | Definition

const isActor = (member: Member): member is ServerActor => "run" in member

export interface ServerRegistry {
  /** The snapshots of all servers, in their order. */
  readonly snapshots: StateCell.Derived<ReadonlyArray<ServerSnapshot>>
  readonly snapshot: (name: string) => ServerSnapshot | undefined
  readonly catalog: LiveCatalog.LiveCatalog
  /** The actor of a server. `undefined` for an inactive server. */
  readonly get: (name: string) => ServerActor | undefined
  /** The definition of an inactive server. `undefined` for a server with an actor. */
  readonly inactive: (name: string) => Definition | undefined
  readonly definition: (name: string) => Definition | undefined
  /** The definitions of all servers, in their order. */
  readonly definitions: () => ReadonlyMap<string, Definition>
  /** All actors, in no particular order. */
  readonly actors: () => Iterable<ServerActor>
  /** The public name of a tool. It depends on the names of all servers. */
  readonly toolName: (ref: ToolName.Ref) => string
  readonly notFound: (name: string) => ServerNotFound
  /** Replaces all servers, their order, and the rules for their tools. */
  readonly set: (members: ReadonlyArray<Member>, rules: Omit<LiveCatalog.Rules, "configured">) => void
  /** Adds a server at the end of the order. */
  readonly add: (member: Member) => void
  readonly remove: (name: string) => void
  /** Replaces an inactive server by its actor. */
  readonly activate: (actor: ServerActor) => void
  /** Replaces the definition of an inactive server. */
  readonly redefine: (definition: Definition) => void
  /** Publishes what has changed about a server. Ignores an actor that is not registered. */
  readonly changed: (actor: ServerActor) => void
  /** Waits until each of these servers has settled once. Defaults to all servers. */
  readonly settling: (names: ReadonlyArray<string> | undefined) => Settling.Wait
  /** Removes all servers, and ends the streams of snapshots and catalogs. */
  readonly end: () => void
}

export const make = (events: EventLog): ServerRegistry => {
  /** In the order of the servers. */
  let names = new Set<string>()
  const actors = new Map<string, ServerActor>()
  const inactive = new Map<string, Definition>()
  /** The actors that `set` is replacing. Events about removed tools are scrubbed with their configs. */
  let former: ReadonlyMap<string, ServerActor> = new Map()
  const configOf = (server: string) => (actors.get(server) ?? former.get(server))?.definition().config
  /** The messages of the current diagnostics of each server, which have been published. */
  const reported = new Map<string, ReadonlySet<string>>()
  const shown = new Map<string, ServerSnapshot>()
  const snapshots = StateCell.derived<ReadonlyArray<ServerSnapshot>>(() =>
    Array.from(names, (name) => shown.get(name)!)
  )
  const settling = Settling.make()

  const catalog = LiveCatalog.make({
    source: (server) => actors.get(server)?.source(),
    allSources: () =>
      [...actors.values()].flatMap((actor): ReadonlyArray<Catalog.Source> => {
        const listings = actor.known()
        const tools = actor.definition().config?.tools ?? {}
        return listings === undefined ? [] : [{ server: actor.name, listings, tools }]
      }),
    onChange: (changes, revision) => {
      for (const change of changes) {
        const scrub = (name: string) => scrubName(configOf(change.server), name)
        const { added, removed } = change
        events.publish({
          type: "CatalogChanged",
          revision,
          ...change,
          added: added.map(scrub),
          removed: removed.map(scrub)
        })
      }
    }
  })

  const report = (server: string, diagnostics: ReadonlyArray<Diagnostic>) => {
    const before = reported.get(server)
    if (diagnostics.length === 0) reported.delete(server)
    else reported.set(server, new Set(diagnostics.map(({ message }) => message)))
    for (const diagnostic of diagnostics) {
      if (!before?.has(diagnostic.message)) events.publish({ type: "Diagnostic", server, diagnostic })
    }
  }

  /** Returns whether the snapshot changed. */
  const show = (next: ServerSnapshot): boolean => {
    const before = shown.get(next.name)
    if (before !== undefined && isSame(before, next)) return false
    shown.set(next.name, next)
    settling.onSnapshot(next)
    report(next.name, next.diagnostics)
    return true
  }

  const showActor = (actor: ServerActor) => show(snapshotOf(actor, catalog.diagnosticsOf(actor.name)))

  const showMember = (member: Member) => (isActor(member) ? showActor(member) : show(inactiveSnapshotOf(member)))

  /** Publishes the snapshots of these servers again. Returns whether one changed. */
  const showActors = (servers: ReadonlyArray<string>): boolean =>
    servers
      .flatMap((server) => actors.get(server) ?? [])
      .map(showActor)
      .includes(true)

  const forget = (name: string) => {
    shown.delete(name)
    reported.delete(name)
    settling.onRemoved(name)
  }

  const definition = (name: string) => actors.get(name)?.definition() ?? inactive.get(name)

  const put = (member: Member) => {
    if (isActor(member)) actors.set(member.name, member)
    else inactive.set(member.name, member)
  }

  const set: ServerRegistry["set"] = (members, rules) => {
    names = new Set(members.map(({ name }) => name))
    const counted = inactive.size
    former = new Map(actors)
    actors.clear()
    inactive.clear()
    members.forEach(put)
    Metrics.count("disabled", inactive.size - counted)
    for (const name of shown.keys()) if (!names.has(name)) forget(name)
    catalog.configure({ ...rules, configured: [...names] })
    former = new Map()
    members.forEach(showMember)
    snapshots.touch()
  }

  return {
    snapshots,
    snapshot: (name) => shown.get(name),
    catalog,
    get: (name) => actors.get(name),
    inactive: (name) => inactive.get(name),
    definition,
    definitions: () => new Map(Array.from(names, (name) => [name, definition(name)!])),
    actors: () => actors.values(),
    toolName: (ref) => ToolName.nameAmong(names, ref),
    notFound: (server) => new ServerNotFound({ server, nearest: nearest(server, names) }),
    set,
    add: (member) => {
      names.add(member.name)
      put(member)
      if (!isActor(member)) Metrics.count("disabled", 1)
      const others = catalog.admit(member.name).filter((name) => name !== member.name)
      showMember(member)
      showActors(others)
      snapshots.touch()
    },
    remove: (name) => {
      // before the config is removed: the events about its tools are scrubbed with it
      const others = catalog.dismiss(name)
      names.delete(name)
      actors.delete(name)
      if (inactive.delete(name)) Metrics.count("disabled", -1)
      forget(name)
      showActors(others)
      snapshots.touch()
    },
    activate: (actor) => {
      if (inactive.delete(actor.name)) Metrics.count("disabled", -1)
      actors.set(actor.name, actor)
      if (showActor(actor)) snapshots.touch()
    },
    redefine: (definition) => {
      const { name } = definition
      const from = shown.get(name)?.status
      inactive.set(name, definition)
      if (!show(inactiveSnapshotOf(definition))) return
      snapshots.touch()
      const to = shown.get(name)!.status
      if (from !== undefined && !ServerStatus.equals(from, to)) {
        events.publish({ type: "StatusChanged", server: name, from, to })
      }
    },
    changed: (actor) => {
      if (actors.get(actor.name) !== actor) return
      // a tool of one server may take its public name from a tool of another server
      const others = catalog.update([actor.name]).filter((name) => name !== actor.name)
      if (showActors([actor.name, ...others])) snapshots.touch()
    },
    settling: (wanted) => settling.wait([...(wanted ?? names)].flatMap((name) => shown.get(name) ?? [])),
    end: () => {
      set([], { tools: {}, agents: new Map() })
      snapshots.end()
      catalog.current.end()
    }
  }
}
