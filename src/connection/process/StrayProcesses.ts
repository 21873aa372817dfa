/**
 * Processes that a server started and that have left its process group (`setsid`). They are found by the tag of that server in
 * their environment, which takes a look at all processes of the system. Servers that end together share a look.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type CannotLook, listYounger, type Row, type Runs } from "./processRows.js"
import type { Tag } from "../stdio/StdioCommand.js"
import * as TaggedProcesses from "./taggedProcesses.js"

export interface StrayProcesses {
  /**
   * The processes of a server outside of its group. None where the system does not show environments. Fails if that cannot be
   * seen now, for lack of file descriptors: then it has to be asked again.
   */
  readonly find: (tag: Tag, group: number) => Effect.Effect<ReadonlyArray<number>, CannotLook>
  /** Signals those that still carry the tag. Throws if that cannot be seen now. */
  readonly signal: (tag: Tag, pids: ReadonlyArray<number>, name: "SIGTERM" | "SIGKILL") => void
}

/** A look blocks the event loop for some milliseconds. After it, this many times as long belongs to everything else. */
const restFactor = 4

export const make = (
  /** Replaceable for tests. */
  list: (runs: Runs) => Effect.Effect<ReadonlyArray<Row>, CannotLook> = listYounger
): StrayProcesses => {
  let next: { readonly rows: Deferred.Deferred<ReadonlyArray<Row>, CannotLook>; readonly runs: Set<string> } | undefined
  let notBefore = Number.NEGATIVE_INFINITY

  const lookNow = (runs: Runs) =>
    Effect.gen(function* () {
      const begun = yield* Clock.currentTimeMillis
      const rest = Effect.map(Clock.currentTimeMillis, (ended) => {
        notBefore = ended + restFactor * (ended - begun)
      })
      return yield* Effect.ensuring(list(runs), rest)
    })

  /** A look that begins after this was called and is shared by all that wait for it. */
  const look = (run: string): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
    Effect.gen(function* () {
      if (next !== undefined) {
        next.runs.add(run)
        return yield* Deferred.await(next.rows)
      }
      const rows = yield* Deferred.make<ReadonlyArray<Row>, CannotLook>()
      const own = { rows, runs: new Set([run]) }
      next = own
      // a daemon, because others may wait for it as well; it ends after one look, and what becomes of it is told in any case
      yield* Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (notBefore > now) yield* Effect.sleep(notBefore - now)
        next = undefined
        return yield* lookNow(own.runs)
      }).pipe(Effect.intoDeferred(rows), Effect.forkDaemon)
      return yield* Deferred.await(rows)
    })

  return {
    find: (tag, group) =>
      process.platform === "win32"
        ? Effect.succeed([])
        : look(tag.run).pipe(
            Effect.map((rows) => TaggedProcesses.straysOf(rows, tag, group, process.pid)),
            Effect.catchTag("CannotLook", (error) => (error.isPassing ? Effect.fail(error) : Effect.succeed([])))
          ),
    signal: (tag, pids, name) => {
      for (const pid of pids) TaggedProcesses.signalStray(pid, tag, name)
    }
  }
}
