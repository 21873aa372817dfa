/**
 * A lock by name in the state directory, across processes.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FileLock from "../../system/files/FileLock.js"

/** How long to wait for the lock. */
const patience = "10 seconds"

/** Runs an effect under the lock of this name. Fails with the reason if the lock cannot be acquired. */
export const withLock =
  (stateDir: string, name: string) =>
  <A, R>(effect: Effect.Effect<A, string, R>): Effect.Effect<A, string, R> =>
    Effect.flatMap(FileLock.make(join(stateDir, "locks", name), { patience }), (lock) =>
      Effect.mapError(lock.withLock(effect), (failure) =>
        failure instanceof FileLock.LockFailed ? reasonOf(failure) : failure
      )
    )

const reasonOf = ({ code, pid, reason }: FileLock.LockFailed): string =>
  reason === "held"
    ? `another program${pid === undefined ? "" : ` (process ${pid})`} is changing it`
    : `there is no lock to be had (${code})`
