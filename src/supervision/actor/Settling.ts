/**
 * Waiting until servers have settled. Each is waited for once: one that settled and is connecting again holds up nothing.
 */
import * as Effect from "effect/Effect"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"

export interface Settling {
  /** A server looks like this from now on. */
  readonly saw: (snapshot: ServerSnapshot) => void
  /** A server was removed: it is waited for no longer. */
  readonly removed: (name: string) => void
  /** Waits for those of these servers that are connecting now. */
  readonly wait: (snapshots: ReadonlyArray<ServerSnapshot>) => Wait
}

export interface Wait {
  /** Each server that has settled, as it was at that moment, or at the beginning if it had settled by then. */
  readonly outcomes: ReadonlyMap<string, ServerSnapshot>
  /** Ends when each of them has settled once or was removed. */
  readonly done: Effect.Effect<void>
}

interface Waiting {
  readonly pending: Set<string>
  readonly outcomes: Map<string, ServerSnapshot>
  wake: () => void
}

export const make = (): Settling => {
  /** The waits for each server: a change of one server concerns only these. */
  const byServer = new Map<string, Set<Waiting>>()

  const resolve = (name: string, snapshot: ServerSnapshot | undefined) => {
    const waiting = byServer.get(name)
    byServer.delete(name)
    for (const each of waiting ?? []) {
      each.pending.delete(name)
      if (snapshot !== undefined) each.outcomes.set(name, snapshot)
      if (each.pending.size === 0) each.wake()
    }
  }

  return {
    saw: (snapshot) => {
      if (byServer.has(snapshot.name) && ServerStatus.isSettled(snapshot.status)) resolve(snapshot.name, snapshot)
    },
    removed: (name) => resolve(name, undefined),
    wait: (snapshots) => {
      const waiting: Waiting = { pending: new Set(), outcomes: new Map(), wake: () => {} }
      for (const snapshot of snapshots) {
        if (ServerStatus.isSettled(snapshot.status)) waiting.outcomes.set(snapshot.name, snapshot)
        else waiting.pending.add(snapshot.name)
      }
      const leave = Effect.sync(() => {
        for (const name of waiting.pending) {
          const others = byServer.get(name)
          others?.delete(waiting)
          if (others?.size === 0) byServer.delete(name)
        }
      })
      for (const name of waiting.pending) byServer.set(name, (byServer.get(name) ?? new Set()).add(waiting))
      const done = Effect.async<void>((resume) => {
        if (waiting.pending.size === 0) return resume(Effect.void)
        waiting.wake = () => resume(Effect.void)
      })
      return { outcomes: waiting.outcomes, done: Effect.ensuring(done, leave) }
    }
  }
}
