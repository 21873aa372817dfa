/**
 * The servers there are, and all that is shown of them: their snapshots, the merged catalog, and the news about both. A change
 * of one server costs the work for that server, however many others there are.
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

/** A server with an actor, or the definition of one that is inactive: disabled or not trusted, and never used so far. */
export type Member = ServerActor | Definition

const isActor = (member: Member): member is ServerActor => "run" in member

export interface ServerRegistry {
  /** In the order of the servers. */
  readonly snapshots: StateCell.Derived<ReadonlyArray<ServerSnapshot>>
  readonly snapshot: (name: string) => ServerSnapshot | undefined
  readonly catalog: LiveCatalog.LiveCatalog
  /** A server with an actor. */
  readonly get: (name: string) => ServerActor | undefined
  /** A server without one. */
  readonly inactive: (name: string) => Definition | undefined
  readonly definition: (name: string) => Definition | undefined
  /** Of all servers, in their order. */
  readonly definitions: () => ReadonlyMap<string, Definition>
  /** All servers that have an actor, in no particular order. */
  readonly actors: () => Iterable<ServerActor>
  /** The public name of a tool, as the names of all servers make it. */
  readonly toolName: (ref: ToolName.Ref) => string
  readonly notFound: (name: string) => ServerNotFound
  /** Puts other servers, or the same in another order, in place of those there are. */
  readonly set: (members: ReadonlyArray<Member>, rules: Omit<LiveCatalog.CatalogRules, "configured">) => void
  /** Adds a server behind all others. */
  readonly add: (member: Member) => void
  readonly remove: (name: string) => void
  /** A server that was inactive has an actor from now on. */
  readonly activate: (actor: ServerActor) => void
  /** Another definition of a server that is inactive and stays so. */
  readonly redefine: (definition: Definition) => void
  /** Something about a server may look different now. One that is not in the roster is not looked at. */
  readonly changed: (actor: ServerActor) => void
  /** Waits until each of these servers, or each there is, has settled once. */
  readonly settling: (names: ReadonlyArray<string> | undefined) => Settling.Wait
  /** Shows that nothing is left, and ends all that is told. */
  readonly end: () => void
}

export const make = (events: EventLog): ServerRegistry => {
  /** In the order of the servers. */
  let names = new Set<string>()
  const actors = new Map<string, ServerActor>()
  const inactive = new Map<string, Definition>()
  /** Servers that are being replaced by others. Events about what goes away with them need their config. */
  let former: ReadonlyMap<string, ServerActor> = new Map()
  const configOf = (server: string) => (actors.get(server) ?? former.get(server))?.definition().config
  /** What was already told about each server of which there is something to tell. */
  const told = new Map<string, ReadonlySet<string>>()
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

  const tell = (server: string, diagnostics: ReadonlyArray<Diagnostic>) => {
    const before = told.get(server)
    if (diagnostics.length === 0) told.delete(server)
    else told.set(server, new Set(diagnostics.map(({ message }) => message)))
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
    tell(next.name, next.diagnostics)
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
    told.delete(name)
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
      // what one server lists may take its name from a tool of another
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
