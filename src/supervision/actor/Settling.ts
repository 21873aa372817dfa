/**
 * Lets callers wait until servers have settled. Each server is awaited once: a server that settled and is connecting
 * again does not delay the caller.
 */
import * as Effect from "effect/Effect"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"

export interface Settling {
  /** Reports the current snapshot of a server. */
  readonly onSnapshot: (snapshot: ServerSnapshot) => void
  /** Reports that a server was removed. No caller waits for it any longer. */
  readonly onRemoved: (name: string) => void
  /** Waits for those of the given servers that are connecting now. */
  readonly wait: (snapshots: ReadonlyArray<ServerSnapshot>) => Wait
}

export interface Wait {
  /**
   * The servers that have settled, each as it was when it settled. A server that was settled already is included as it
   * was at the start.
   */
  readonly outcomes: ReadonlyMap<string, ServerSnapshot>
  /** Completes when each of the servers has settled once or was removed. */
  readonly done: Effect.Effect<void>
}

interface PendingWait {
  readonly pending: Set<string>
  readonly outcomes: Map<string, ServerSnapshot>
  wake: () => void
}

export const make = (): Settling => {
  /** The pending waits per server, so that a change of one server is checked against these only. */
  const byServer = new Map<string, Set<PendingWait>>()

  const settle = (name: string, snapshot: ServerSnapshot | undefined) => {
    const waits = byServer.get(name)
    byServer.delete(name)
    for (const wait of waits ?? []) {
      wait.pending.delete(name)
      if (snapshot !== undefined) wait.outcomes.set(name, snapshot)
      if (wait.pending.size === 0) wait.wake()
    }
  }

  return {
    onSnapshot: (snapshot) => {
      if (byServer.has(snapshot.name) && ServerStatus.isSettled(snapshot.status)) settle(snapshot.name, snapshot)
    },
    onRemoved: (name) => settle(name, undefined),
    wait: (snapshots) => {
      const waiting: PendingWait = { pending: new Set(), outcomes: new Map(), wake: () => {} }
      for (const snapshot of snapshots) {
        if (ServerStatus.isSettled(snapshot.status)) waiting.outcomes.set(snapshot.name, snapshot)
        else waiting.pending.add(snapshot.name)
      }
      const unregister = Effect.sync(() => {
        for (const name of waiting.pending) {
          const waits = byServer.get(name)
          waits?.delete(waiting)
          if (waits?.size === 0) byServer.delete(name)
        }
      })
      for (const name of waiting.pending) byServer.set(name, (byServer.get(name) ?? new Set()).add(waiting))
      const done = Effect.async<void>((resume) => {
        if (waiting.pending.size === 0) return resume(Effect.void)
        waiting.wake = () => resume(Effect.void)
      })
      return { outcomes: waiting.outcomes, done: Effect.ensuring(done, unregister) }
    }
  }
}
