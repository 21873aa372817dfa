/**
 * Names the servers whose processes still run while the program shuts down.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import { exists } from "../../system/processIdentity.js"
import { setShutdownNames } from "../signals.js"

/** After a signal, the program names those of these servers for which it still waits. */
export const noteRunningServers = (
  changes: Stream.Stream<ReadonlyArray<ServerSnapshot>>
): Effect.Effect<void, never, Scope.Scope> => {
  let latest: ReadonlyArray<ServerSnapshot> = []
  setShutdownNames(() => serversRunning(latest, childCount()))
  return changes.pipe(
    Stream.runForEach((all) =>
      Effect.sync(() => {
        latest = all
      })
    ),
    Effect.forkScoped,
    Effect.asVoid
  )
}

/**
 * The servers whose process runs. The process of a server that is connecting is not known yet: such a server counts as running
 * while this program has more child processes than servers with a known process.
 */
export const serversRunning = (all: ReadonlyArray<ServerSnapshot>, children: number): ReadonlyArray<string> => {
  const known = all.filter(({ pid }) => pid !== undefined && exists(pid))
  const isStarting = ({ pid, status, transport }: ServerSnapshot) =>
    pid === undefined && status.status === "connecting" && transport === "stdio"
  return [...known, ...(children > known.length ? all.filter(isStarting) : [])].map(({ name }) => name)
}

const childCount = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length
