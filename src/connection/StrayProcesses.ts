/**
 * Processes that a server started and that have left its process group (`setsid`). They are found by the tag of that server in
 * their environment, which takes a look at all processes of the system. Servers that end together share a look.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Tag } from "./StdioCommand.js"
import * as TaggedProcesses from "./taggedProcesses.js"

export interface StrayProcesses {
  /** The processes of a server outside of its group. None where the system does not show environments. */
  readonly find: (tag: Tag, group: number) => Effect.Effect<ReadonlyArray<number>>
  /** Signals those that still carry the tag. */
  readonly signal: (tag: Tag, pids: ReadonlyArray<number>, name: "SIGTERM" | "SIGKILL") => void
}

/** A look blocks the event loop for some milliseconds. After it, this many times as long belongs to everything else. */
const rest = 4

export const make = (
  /** Replaceable for tests. */
  list: (runs: ReadonlySet<string>) => ReturnType<typeof TaggedProcesses.list> = TaggedProcesses.listYounger
): StrayProcesses => {
  let next:
    | { readonly rows: Deferred.Deferred<ReadonlyArray<TaggedProcesses.Row>>; readonly runs: Set<string> }
    | undefined
  let notBefore = Number.NEGATIVE_INFINITY

  /** A look that begins after this was called and is shared by all that wait for it. */
  const look = (run: string): Effect.Effect<ReadonlyArray<TaggedProcesses.Row>> =>
    Effect.gen(function* () {
      if (next !== undefined) {
        next.runs.add(run)
        return yield* Deferred.await(next.rows)
      }
      const rows = yield* Deferred.make<ReadonlyArray<TaggedProcesses.Row>>()
      const own = { rows, runs: new Set([run]) }
      next = own
      // a daemon, because others may wait for it as well; it ends after one look
      yield* Effect.forkDaemon(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          if (notBefore > now) yield* Effect.sleep(notBefore - now)
          next = undefined
          const begun = yield* Clock.currentTimeMillis
          const found = yield* Effect.orElseSucceed(list(own.runs), () => [])
          const ended = yield* Clock.currentTimeMillis
          notBefore = ended + rest * (ended - begun)
          yield* Deferred.succeed(rows, found)
        })
      )
      return yield* Deferred.await(rows)
    })

  return {
    find: (tag, group) =>
      process.platform === "win32"
        ? Effect.succeed([])
        : Effect.map(look(tag.run), (rows) => TaggedProcesses.straysOf(rows, tag, group, process.pid)),
    signal: (tag, pids, name) => {
      for (const pid of pids) TaggedProcesses.signalStray(pid, tag, name)
    }
  }
}
