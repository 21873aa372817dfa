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
import * as StateFile from "../system/files/stateFile.js"

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

/** What reading `daemon.json` returned. A file that does not match its schema counts as none. */
export type Read =
  | { readonly _tag: "None" }
  | { readonly _tag: "Unreadable"; readonly code: string }
  /** A later version of this program wrote the file. */
  | { readonly _tag: "Newer" }
  | { readonly _tag: "Found"; readonly daemon: DaemonFile }

/** Reads `daemon.json`. Whether the process in it is alive is not checked; see `DaemonState`. */
export const read = (stateDir: string): Effect.Effect<Read> =>
  Effect.map(StateFile.read(fileIn(stateDir), maxBytes), (file): Read => {
    if (file._tag === "Newer" || file._tag === "Unreadable") return file
    const daemon = file._tag === "Found" ? decode(file.content) : Option.none()
    return Option.isSome(daemon) ? { _tag: "Found", daemon: daemon.value } : { _tag: "None" }
  })

/**
 * Writes `daemon.json`. The file of a later version is not overwritten. Fails with the system's error code, or `newer`.
 *
 * @since 0.1.0
 * @category files
 */
export const write = (stateDir: string, daemon: DaemonFile): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    if ((yield* read(stateDir))._tag === "Newer") return yield* Effect.fail("newer")
    yield* StateFile.write(fileIn(stateDir), `${JSON.stringify(daemon, undefined, 2)}\n`)
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
    const file = yield* read(stateDir)
    if (file._tag === "Found" && file.daemon.pid === pid) yield* act(file.daemon)
  }).pipe(withinBudget(patience), Effect.asVoid)
