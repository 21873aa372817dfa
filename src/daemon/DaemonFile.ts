/**
 * Reads and writes `daemon.json` in the state directory: which process supervises it, and at which address.
 *
 * @since 0.1.0
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { withinBudget } from "../system/budget.js"
import * as ProcessIdentity from "../system/processIdentity.js"
import * as StateFile from "../system/stateFile.js"
import { revision } from "../control/apiRevision.js"

/**
 * Where a supervisor looks for its configuration. Two supervisors that read the same files serve the same servers.
 *
 * @since 0.1.0
 * @category models
 */
export const Sources = Schema.Struct({
  cwd: Schema.String,
  /** The files that were named when it was started. */
  files: Schema.Array(Schema.String),
  home: Schema.String,
  /** The environment variables that determine the location of files. */
  env: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** Digests of texts that may hold secrets. */
  digests: Schema.Record({ key: Schema.String, value: Schema.String })
})

/**
 * @since 0.1.0
 * @category models
 */
export type Sources = typeof Sources.Type

/**
 * @since 0.1.0
 * @category models
 */
export const DaemonFile = Schema.Struct({
  /** The version of the file format. */
  version: Schema.Literal(StateFile.version),
  pid: Schema.Int,
  /** Distinguishes the process from a later process with the same id. */
  identity: ProcessIdentity.Identity,
  /** Such as `http://127.0.0.1:7444`. */
  address: Schema.String,
  /** The Unix socket, if there is one. */
  socket: Schema.optional(Schema.String),
  /** The config files that existed when it started. */
  config: Schema.Array(Schema.String),
  sources: Sources,
  /** The version of the program that wrote the file. */
  release: Schema.String,
  /** The revision of its control API. */
  api: Schema.Finite,
  /** Epoch milliseconds. */
  startedAt: Schema.Finite,
  /** Whether it is shutting down: it no longer listens, and another process may listen at its address. Defaults to false. */
  isEnding: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "DaemonFile" })

/**
 * @since 0.1.0
 * @category models
 */
export type DaemonFile = typeof DaemonFile.Type

/**
 * @since 0.1.0
 * @category files
 */
export const fileIn = (stateDir: string): string => join(stateDir, "daemon.json")

const maxBytes = 1024 * 1024

const decode = Schema.decodeUnknownOption(DaemonFile)

/**
 * Which supervisor a state directory has: none, running, shutting down, one with a different API revision, or one of a later
 * version of this program, whose file cannot be interpreted. The file of a dead process counts as none.
 *
 * @since 0.1.0
 * @category models
 */
export type Found =
  | {
      readonly _tag: "Nobody"
      /** The system's error code, if the file cannot be read. */
      readonly hidden?: string
    }
  | { readonly _tag: "Running"; readonly daemon: DaemonFile }
  | { readonly _tag: "Ending"; readonly daemon: DaemonFile }
  | { readonly _tag: "OtherApi"; readonly daemon: DaemonFile }
  | { readonly _tag: "Newer" }

/**
 * @since 0.1.0
 * @category files
 */
export const find = (stateDir: string): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const file = yield* StateFile.read(fileIn(stateDir), maxBytes)
    if (file._tag === "Newer") return { _tag: "Newer" }
    if (file._tag === "Unreadable") return { _tag: "Nobody", hidden: file.code }
    const daemon = file._tag === "Found" ? decode(file.content) : Option.none()
    if (Option.isNone(daemon)) return { _tag: "Nobody" }
    // an unknown liveness counts as alive: the connection attempt decides
    const liveness = yield* ProcessIdentity.isAlive(daemon.value.identity)
    if (liveness === "dead") return { _tag: "Nobody" }
    if (daemon.value.isEnding === true) return { _tag: "Ending", daemon: daemon.value }
    return { _tag: daemon.value.api === revision ? "Running" : "OtherApi", daemon: daemon.value }
  })

/**
 * Writes `daemon.json`. The file of a later version is not overwritten. Fails with the system's error code, or `newer`.
 *
 * @since 0.1.0
 * @category files
 */
export const write = (stateDir: string, daemon: DaemonFile): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const path = fileIn(stateDir)
    const existing = yield* StateFile.read(path, maxBytes)
    if (existing._tag === "Newer") return yield* Effect.fail("newer")
    yield* StateFile.write(path, `${JSON.stringify(daemon, undefined, 2)}\n`)
  })

/**
 * Marks this process as shutting down. If that cannot be written, the file is removed.
 *
 * @since 0.1.0
 * @category files
 */
export const end = (stateDir: string, pid: number): Effect.Effect<void> =>
  ifWrittenBy(stateDir, pid, (daemon) =>
    Effect.catchAll(write(stateDir, { ...daemon, isEnding: true }), () => StateFile.remove(fileIn(stateDir)))
  )

/**
 * Removes the file if this process wrote it.
 *
 * @since 0.1.0
 * @category files
 */
export const remove = (stateDir: string, pid: number): Effect.Effect<void> =>
  ifWrittenBy(stateDir, pid, () => StateFile.remove(fileIn(stateDir)))

/** How long a process that is shutting down waits for the file system. */
const patience = "1 second"

const ifWrittenBy = (
  stateDir: string,
  pid: number,
  act: (daemon: DaemonFile) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const file = yield* StateFile.read(fileIn(stateDir), maxBytes)
    const daemon = file._tag === "Found" ? decode(file.content) : Option.none()
    if (Option.isSome(daemon) && daemon.value.pid === pid) yield* act(daemon.value)
  }).pipe(withinBudget(patience), Effect.asVoid)
