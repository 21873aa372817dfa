/**
 * Laws of statuses: events have no gaps, statuses follow the diagram, and snapshots agree with events.
 */
import type * as ServerSnapshot from "../../../src/domain/server/ServerSnapshot.js"
import { type ServerEvent, ServerStatus } from "../../../src/index.js"
import type { World } from "./world.js"

type Kind = ServerStatus.ServerStatus["status"]

/** The possible next statuses, as in the diagram of docs/lifecycle.md. A status may also follow itself. */
const successors: Record<Kind, ReadonlyArray<Kind>> = {
  disabled: ["idle", "connecting", "failed"],
  idle: ["disabled", "connecting", "failed"],
  connecting: ["disabled", "connected", "failed", "needs_auth", "needs_client_registration"],
  connected: ["disabled", "idle", "connecting", "failed", "needs_auth", "needs_client_registration"],
  failed: ["disabled", "connecting"],
  needs_auth: ["disabled", "connecting", "failed"],
  needs_client_registration: ["disabled", "connecting", "failed"]
}

/** The possible first statuses. */
const beginnings: ReadonlyArray<Kind> = ["connecting", "idle", "disabled", "failed"]

export interface StatusLaw {
  readonly hear: (event: ServerEvent.ServerEvent) => void
  readonly rest: (snapshots: ReadonlyArray<ServerSnapshot.ServerSnapshot>) => void
}

export const makeStatusLaw = (world: World): StatusLaw => {
  const last = new Map<string, ServerStatus.ServerStatus>()
  const generations = new Map<string, number>()
  let seq = 0
  let at = 0

  const follow = (server: string, { from, to }: ServerEvent.EventOf<"StatusChanged">) => {
    const before = last.get(server)
    const move = `${server}: ${from.status} → ${to.status}`
    if (before === undefined) ensure(beginnings.includes(from.status), `${move} at the beginning`)
    else ensure(same(before, from), () => `${move}, but it was ${show(before)}, not ${show(from)}`)
    ensure(from.status === to.status || successors[from.status].includes(to.status), `${move} is no move there is`)
    ensure(!same(from, to), `${move} is no change`)
    last.set(server, to)
    world.met(`status ${to.status}`)
    if (to.status === "failed")
      world.met(to.gaveUp !== undefined ? "gave up" : to.retryAt !== undefined ? "will retry" : "parked")
    if (to.status === "disabled") world.met(`disabled by ${to.by}`)
  }

  return {
    hear: (event) => {
      ensure(event.type !== "Skipped" && event.seq === seq + 1, () => `event ${seq} is followed by ${show(event)}`)
      ensure(event.at >= at && event.at <= world.simulation.now(), () => `${show(event)} is out of time`)
      seq = event.seq
      at = event.at
      world.met(`event ${event.type}`)
      if (event.type === "StatusChanged") follow(event.server!, event)
      if (event.type === "ServerAdded" || event.type === "ServerRemoved") {
        last.delete(event.server!)
        generations.delete(event.server!)
      }
    },
    rest: (snapshots) => {
      for (const { generation, name, status } of snapshots) {
        const told = last.get(name)
        if (told === undefined) last.set(name, status)
        else ensure(same(told, status), () => `${name}: is ${show(status)}, but told was ${show(told)}`)
        const before = generations.get(name) ?? 0
        ensure(generation >= before, `${name}: generation ${before} is followed by ${generation}`)
        generations.set(name, generation)
      }
    }
  }
}

/** Throws if a law is violated. */
export function ensure(holds: boolean, otherwise: string | (() => string)): asserts holds {
  if (!holds) throw new Error(typeof otherwise === "string" ? otherwise : otherwise())
}

export const show = (value: unknown): string => JSON.stringify(value)

/** Mostly compares identical objects. */
const same = (a: ServerStatus.ServerStatus, b: ServerStatus.ServerStatus): boolean =>
  a === b || ServerStatus.equals(a, b)
