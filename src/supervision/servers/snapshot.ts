/**
 * Builds the snapshot of a server from its actor, or from its definition if it is inactive.
 */
import { defined } from "../../domain/internal/defined.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"
import type { Definition } from "./Definition.js"
import type { ServerActor } from "../actor/ServerActor.js"

export const snapshotOf = (actor: ServerActor, catalog: ReadonlyArray<Diagnostic>): ServerSnapshot => {
  const state = actor.state.get()
  const link = actor.link()
  const listings = actor.source()?.listings
  const session = link?.session.info
  const { config, name, origin } = actor.definition()
  return {
    name,
    origin,
    status: Lifecycle.status(state),
    generation: state.generation,
    restarts: state.restarts,
    tools: listings?.tools.length ?? 0,
    resources: listings?.resources.length ?? 0,
    prompts: listings?.prompts.length ?? 0,
    diagnostics: [...actor.diagnostics(), ...catalog],
    ...defined({
      transport: session?.transport ?? (config?._tag === "Local" ? ("stdio" as const) : undefined),
      pid: session?.pid,
      protocolVersion: session?.protocolVersion,
      replacement: Lifecycle.replacement(state),
      ...link?.introduction
    })
  }
}

/** The snapshot of a server without an actor. */
export const inactiveSnapshotOf = ({ config, diagnostics, name, origin, settings }: Definition): ServerSnapshot => {
  const snapshot: ServerSnapshot = {
    name,
    origin,
    status: Lifecycle.status(Lifecycle.start(settings, 0).state),
    generation: 0,
    restarts: 0,
    tools: 0,
    resources: 0,
    prompts: 0,
    diagnostics
  }
  return config?._tag === "Local" ? { ...snapshot, transport: "stdio" } : snapshot
}

/** Whether two snapshots show the same values. */
export const isSame = (a: ServerSnapshot, b: ServerSnapshot): boolean =>
  (a.status === b.status || ServerStatus.equals(a.status, b.status)) &&
  a.generation === b.generation &&
  a.restarts === b.restarts &&
  a.origin === b.origin &&
  a.tools === b.tools &&
  a.resources === b.resources &&
  a.prompts === b.prompts &&
  a.pid === b.pid &&
  a.transport === b.transport &&
  a.replacement?.generation === b.replacement?.generation &&
  a.replacement?.error === b.replacement?.error &&
  a.replacement?.retryAt === b.replacement?.retryAt &&
  a.diagnostics.length === b.diagnostics.length &&
  a.diagnostics.every((diagnostic, index) => diagnostic.message === b.diagnostics[index]?.message)
