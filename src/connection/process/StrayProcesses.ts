/**
 * Finds processes of a server that have left its process group (`setsid`). They carry the tag of the server in their
 * environment; finding them requires a listing of all processes. Servers that end together share one listing.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type CannotLook, listYounger, type Row, type RunTags } from "./processRows.js"
import type { Tag } from "../stdio/StdioCommand.js"
import * as TaggedProcesses from "./taggedProcesses.js"

export interface StrayProcesses {
  /**
   * The processes of a server outside of its group. Empty on systems that do not show environments. Fails if the listing fails
   * for lack of file descriptors: the caller has to retry.
   */
  readonly find: (tag: Tag, group: number) => Effect.Effect<ReadonlyArray<number>, CannotLook>
  /** Signals the processes that still carry the tag. Throws if that cannot be determined for lack of resources. */
  readonly signal: (tag: Tag, pids: ReadonlyArray<number>, name: "SIGTERM" | "SIGKILL") => void
}

/** A listing blocks the event loop for some milliseconds. The next one starts after a pause of this many times its duration. */
const restFactor = 4

export const make = (
  /** Replaceable for tests. */
  list: (runs: RunTags) => Effect.Effect<ReadonlyArray<Row>, CannotLook> = listYounger
): StrayProcesses => {
  let next: { readonly rows: Deferred.Deferred<ReadonlyArray<Row>, CannotLook>; readonly runs: Set<string> } | undefined
  let notBefore = Number.NEGATIVE_INFINITY

  const listNow = (runs: RunTags) =>
    Effect.gen(function* () {
      const begun = yield* Clock.currentTimeMillis
      const rest = Effect.map(Clock.currentTimeMillis, (ended) => {
        notBefore = ended + restFactor * (ended - begun)
      })
      return yield* Effect.ensuring(list(runs), rest)
    })

  /** A listing that starts after this call. Concurrent callers share it. */
  const shareListing = (run: string): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
    Effect.gen(function* () {
      if (next !== undefined) {
        next.runs.add(run)
        return yield* Deferred.await(next.rows)
      }
      const rows = yield* Deferred.make<ReadonlyArray<Row>, CannotLook>()
      const listing = { rows, runs: new Set([run]) }
      next = listing
      // A daemon fiber, because other callers may wait for it as well. It ends after one listing, and `rows` completes in any
      // case.
      yield* Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (notBefore > now) yield* Effect.sleep(notBefore - now)
        next = undefined
        return yield* listNow(listing.runs)
      }).pipe(Effect.intoDeferred(rows), Effect.forkDaemon)
      return yield* Deferred.await(rows)
    })

  return {
    find: (tag, group) =>
      process.platform === "win32"
        ? Effect.succeed([])
        : shareListing(tag.run).pipe(
            Effect.map((rows) => TaggedProcesses.straysOf(rows, tag, group, process.pid)),
            Effect.catchTag("CannotLook", (error) => (error.isPassing ? Effect.fail(error) : Effect.succeed([])))
          ),
    signal: (tag, pids, name) => {
      for (const pid of pids) TaggedProcesses.signalStray(pid, tag, name)
    }
  }
}
