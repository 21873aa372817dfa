/**
 * Names the lock by which a process claims a state directory, and notices when the lock is removed.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { codeOf } from "../system/files/wholeFile.js"

export const lockIn = (stateDir: string): string => join(stateDir, "daemon.lock")

const pollInterval = "2 seconds"

/**
 * Completes when the lock no longer exists because the state directory was removed: another supervisor may then claim the
 * directory, and clients no longer find this one.
 */
export const removed = (stateDir: string): Effect.Effect<void> =>
  Effect.tryPromise({ try: () => stat(lockIn(stateDir)), catch: codeOf }).pipe(
    Effect.match({ onFailure: (code) => code === "ENOENT", onSuccess: () => false }),
    Effect.delay(pollInterval),
    Effect.repeat({ until: (isMissing) => isMissing }),
    Effect.asVoid
  )
