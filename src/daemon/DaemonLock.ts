/**
 * Inspects the lock by which a process claims a state directory, without taking it.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FileLock from "../system/FileLock.js"
import * as ProcessIdentity from "../system/processIdentity.js"
import { codeOf } from "../system/wholeFile.js"

export const lockIn = (stateDir: string): string => join(stateDir, "daemon.lock")

/** The process that took the lock, dead or alive. It may have just started and not answer requests yet. */
export const holder = (stateDir: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  FileLock.holder(lockIn(stateDir))

/** The process that holds the lock, if it is certainly alive. */
export const livingHolder = (stateDir: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  Effect.gen(function* () {
    const identity = yield* holder(stateDir)
    return identity !== undefined && (yield* ProcessIdentity.isAlive(identity)) === "alive" ? identity : undefined
  })

const pollInterval = "2 seconds"

/**
 * Completes when the lock file of this process no longer exists because the directory was removed: another supervisor may then
 * claim the directory, and clients no longer find this one.
 */
export const lost = (stateDir: string): Effect.Effect<void> =>
  Effect.tryPromise({ try: () => stat(lockIn(stateDir)), catch: codeOf }).pipe(
    Effect.match({ onFailure: (code) => code === "ENOENT", onSuccess: () => false }),
    Effect.delay(pollInterval),
    Effect.repeat({ until: (isMissing) => isMissing }),
    Effect.asVoid
  )
