/**
 * Which servers are still there while everything ends.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import { exists } from "../../system/processIdentity.js"
import { whileEnding } from "../signals.js"

/** Has a signal say for which of these servers it waits. */
export const waitingFor = (
  changes: Stream.Stream<ReadonlyArray<ServerSnapshot>>
): Effect.Effect<void, never, Scope.Scope> => {
  let latest: ReadonlyArray<ServerSnapshot> = []
  whileEnding(() => stillThere(latest, childCount()))
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

/** Those whose process runs. That of one which was about to connect is not known: it counts while more run than are known. */
export const stillThere = (all: ReadonlyArray<ServerSnapshot>, children: number): ReadonlyArray<string> => {
  const known = all.filter(({ pid }) => pid !== undefined && exists(pid))
  const isStarting = ({ pid, status, transport }: ServerSnapshot) =>
    pid === undefined && status.status === "connecting" && transport === "stdio"
  return [...known, ...(children > known.length ? all.filter(isStarting) : [])].map(({ name }) => name)
}

const childCount = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length
