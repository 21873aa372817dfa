/**
 * Laws of the catalog: it contains exactly the tools of servers that are connected, that are idle and were listed before, or
 * that were lost a moment ago and are reconnecting. Computed from statuses and from the servers' listings, independently of
 * the supervisor's code.
 */
import type * as Catalog from "../../../src/domain/catalog/Catalog.js"
import type * as ServerSnapshot from "../../../src/domain/server/ServerSnapshot.js"
import { type ServerEvent, type ServerStatus, ToolName } from "../../../src/index.js"
import { attemptsOf, hasToldAll } from "./ledger.js"
import { globalGlobs, isSameServer, serverGlobs, type ServerSpec } from "./specs.js"
import { ensure, show } from "./statusLaw.js"
import type { World } from "./world.js"

/** How long the tools of a lost server stay listed. */
const grace = 30_000

/** The recorded facts about one server. */
interface Memory {
  /** The last listing while it was seen connected. */
  tools: ReadonlyArray<string>
  /** When it was last connected or idle, by both clocks. */
  leftAt: { readonly wall: number; readonly elapsed: number } | undefined
  /** Whether the laws allow its old tools to be listed or not. */
  isOpen: boolean
  spec: ServerSpec | undefined
}

export interface CatalogLaw {
  readonly hear: (event: ServerEvent.ServerEvent) => void
  readonly rest: (snapshots: ReadonlyArray<ServerSnapshot.ServerSnapshot>, catalog: Catalog.Catalog) => void
}

export const makeCatalogLaw = (world: World): CatalogLaw => {
  const memories = new Map<string, Memory>()
  let revision = 0
  let lastCatalog: Catalog.Catalog | undefined

  const memoryOf = (server: string): Memory => {
    const known = memories.get(server)
    if (known !== undefined) return known
    const memory: Memory = { tools: [], leftAt: undefined, isOpen: false, spec: undefined }
    memories.set(server, memory)
    return memory
  }

  const specOf = ({ name, origin }: ServerSnapshot.ServerSnapshot) =>
    (origin === "dynamic" ? world.dynamic : world.desired).get(name)

  /** The listings that a server may have in the catalog. More than one only where the laws allow it. */
  const allowed = (snapshot: ServerSnapshot.ServerSnapshot): ReadonlyArray<ReadonlyArray<string>> => {
    const { name, status } = snapshot
    const memory = memoryOf(name)
    switch (status.status) {
      case "connected": {
        const serving = attemptsOf(world.ledger, name).findLast(hasToldAll)
        ensure(serving?.tools !== undefined, `${name} is connected, but no session is open`)
        ensure(status.tools === serving.tools.length, `${name} counts ${status.tools} of ${serving.tools.length} tools`)
        memory.tools = serving.tools
        memory.isOpen = false
        return [serving.tools]
      }
      case "idle":
        return memory.isOpen ? open(name, memory) : [memory.tools]
      default:
        if (!isExpectedBack(status)) return [[]]
        return memory.isOpen ? open(name, memory) : inGrace(memory).map((shown) => (shown ? memory.tools : []))
    }
  }

  /** It may have connected and been lost between two checks. */
  const open = (server: string, { tools }: Memory) => [tools, world.ledger.lastTold.get(server) ?? [], []]

  /** At the last moment, and if the two clocks disagree, both are allowed. */
  const inGrace = ({ leftAt }: Memory): ReadonlyArray<boolean> => {
    if (leftAt === undefined) return [false]
    const { elapsed, now } = world.simulation
    const gone = [now() - leftAt.wall, elapsed() - leftAt.elapsed]
    return [true, false].filter((shown) => gone.some((ms) => (shown ? ms <= grace : ms >= grace)))
  }

  const publicTools = (
    names: ReadonlyArray<string>,
    snapshot: ServerSnapshot.ServerSnapshot,
    raw: ReadonlyArray<string>
  ) => {
    const server = serverGlobs[specOf(snapshot)?.globs ?? 0]
    const isOffered = ToolName.filter({ global: globalGlobs[world.globs], server })
    const nameOf = ToolName.namer(names)
    return raw
      .map((tool) => ({ server: snapshot.name, tool }))
      .filter(isOffered)
      .map((ref) => `${nameOf(ref)} = ${ref.tool}`)
  }

  return {
    hear: (event) => {
      if (event.type === "ServerAdded" || event.type === "ServerRemoved") memories.delete(event.server!)
      if (event.type !== "StatusChanged") return
      const memory = memoryOf(event.server!)
      const { from, to } = event
      if (isGood(from) && !isGood(to)) {
        memory.leftAt = { wall: event.at, elapsed: world.simulation.elapsed() }
      }
      // it may have returned another list than at the last check
      if (from.status === "connected" && to.status !== "connected" && memory.tools.length !== from.tools)
        memory.isOpen = true
      if (!isGood(to) && !isExpectedBack(to)) memory.isOpen = true
    },
    rest: (snapshots, catalog) => {
      if (lastCatalog !== undefined) {
        ensure(catalog.revision >= revision, `revision ${revision} is followed by ${catalog.revision}`)
        ensure(catalog === lastCatalog || catalog.revision > revision, `two catalogs of revision ${revision}`)
      }
      revision = catalog.revision
      lastCatalog = catalog
      // while the config changes, it is uncertain what is configured
      if (world.commands.some(({ name }) => name === "reconcile" || name === "add" || name === "remove")) return
      const names = snapshots.map(({ name }) => name)
      for (const snapshot of snapshots) {
        const { name } = snapshot
        const memory = memoryOf(name)
        const spec = specOf(snapshot)
        if (memory.spec !== undefined && spec !== undefined && !isSameServer(memory.spec, spec)) memory.isOpen = true
        memory.spec = spec
        const shown = catalog.tools
          .filter(({ server }) => server === name)
          .map(({ name, rawName }) => `${name} = ${rawName}`)
        const expected = allowed(snapshot).map((tools) => publicTools(names, snapshot, tools))
        ensure(
          expected.some((tools) => show(tools) === show(shown)),
          () =>
            `${name} is ${snapshot.status.status} and lists ${show(shown)} instead of ${expected.map(show).join(" or ")}`
        )
      }
      const strangers = catalog.tools.filter(({ server }) => !names.includes(server))
      ensure(strangers.length === 0, () => `listed is what belongs to nobody: ${show(strangers)}`)
    }
  }
}

const isGood = ({ status }: ServerStatus.ServerStatus): boolean => status === "connected" || status === "idle"

const isExpectedBack = (status: ServerStatus.ServerStatus): boolean =>
  status.status === "connecting" ||
  (status.status === "failed" && status.retryAt !== undefined && status.gaveUp === undefined)
