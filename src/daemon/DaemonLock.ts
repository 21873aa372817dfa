/**
 * The claim to be the one supervisor of a state directory, for those who only look at it.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FileLock from "../system/FileLock.js"
import * as ProcessIdentity from "../system/processIdentity.js"
import { codeOf } from "../system/wholeFile.js"

export const lockIn = (stateDir: string): string => join(stateDir, "daemon.lock")

/** Who has made it, dead or alive, also one that has only begun and cannot be asked yet. */
export const holder = (stateDir: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  FileLock.holder(lockIn(stateDir))

/** The same, if it is certainly alive. */
export const livingHolder = (stateDir: string): Effect.Effect<ProcessIdentity.Identity | undefined> =>
  Effect.gen(function* () {
    const found = yield* holder(stateDir)
    return found !== undefined && (yield* ProcessIdentity.isAlive(found)) === "alive" ? found : undefined
  })

const lookEvery = "2 seconds"

/**
 * Ends when a claim of ours is no longer there, because somebody has taken the directory away: then another one may supervise
 * there, and nobody can find us.
 */
export const lost = (stateDir: string): Effect.Effect<void> =>
  Effect.tryPromise({ try: () => stat(lockIn(stateDir)), catch: codeOf }).pipe(
    Effect.match({ onFailure: (code) => code === "ENOENT", onSuccess: () => false }),
    Effect.delay(lookEvery),
    Effect.repeat({ until: (isGone) => isGone }),
    Effect.asVoid
  )
