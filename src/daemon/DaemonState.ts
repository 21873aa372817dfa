/**
 * Determines from `daemon.json` and the lock which supervisor a state directory has.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileLock from "../system/files/FileLock.js"
import * as ProcessIdentity from "../system/processIdentity.js"
import { announcedState } from "./announcedState.js"
import * as DaemonFile from "./DaemonFile.js"
import { lockIn } from "./DaemonLock.js"
import * as SocketPath from "./socketPath.js"

/**
 * The supervisor of a state directory. A file or lock of a dead process counts as none.
 *
 * @since 0.1.0
 * @category models
 */
export type DaemonState =
  /** No process supervises the directory. */
  | { readonly _tag: "None" }
  /** `daemon.json` cannot be read and the lock names no process: whether a supervisor runs is unknown. */
  | { readonly _tag: "Unreadable" /** The system's error code. */; readonly code: string }
  /** A process holds the lock and has not written `daemon.json` yet. */
  | { readonly _tag: "Starting"; readonly holder: ProcessIdentity.Identity }
  /** A process holds the lock and has listened for a while, but `daemon.json` is missing. */
  | { readonly _tag: "Unannounced"; readonly holder: ProcessIdentity.Identity }
  /** The lock names a process of another machine or container, of which it is unknown whether it is alive. */
  | { readonly _tag: "Elsewhere"; readonly holder: ProcessIdentity.Identity }
  | { readonly _tag: "Running"; readonly daemon: DaemonFile.DaemonFile }
  /** It no longer listens, and another process may listen at its address. */
  | { readonly _tag: "ShuttingDown"; readonly daemon: DaemonFile.DaemonFile }
  /** It has another revision of the control API than this program. */
  | { readonly _tag: "OtherApi"; readonly daemon: DaemonFile.DaemonFile }
  /** A later version of this program wrote `daemon.json`, which cannot be interpreted. */
  | { readonly _tag: "Newer" }

/** `daemon.json` is written as soon as the supervisor listens. After this time it is missing. */
const announcedMs = 5_000

/**
 * Reads `daemon.json`, and the lock if the file names no living process.
 *
 * @since 0.1.0
 * @category finding
 */
export const find = Effect.fnUntraced(function* (stateDir: string): Effect.fn.Return<DaemonState> {
  const file = yield* DaemonFile.read(stateDir)
  if (file._tag === "Newer") return { _tag: "Newer" }
  // an unknown liveness counts as alive: the connection attempt decides
  if (file._tag === "Found" && (yield* ProcessIdentity.isAlive(file.daemon.identity)) !== "dead") {
    return { _tag: announcedState(file.daemon), daemon: file.daemon }
  }
  const holder = yield* FileLock.holder(lockIn(stateDir))
  if (holder === undefined) return file._tag === "Unreadable" ? file : { _tag: "None" }
  const liveness = yield* ProcessIdentity.isAlive(holder)
  if (liveness === "dead") return { _tag: "None" }
  if (liveness === "unknown") return { _tag: "Elsewhere", holder }
  const listeningMs = (yield* SocketPath.age(stateDir)) ?? 0
  return { _tag: listeningMs < announcedMs ? "Starting" : "Unannounced", holder }
})
