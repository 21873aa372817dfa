/**
 * `daemon.json` in the state directory: who supervises there, and where to ask.
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
 * Where a supervisor looks for its configuration. Two that find the same files serve the same.
 *
 * @since 0.1.0
 * @category models
 */
export const Sources = Schema.Struct({
  cwd: Schema.String,
  /** Those that were named when it was started. */
  files: Schema.Array(Schema.String),
  home: Schema.String,
  /** The variables that say where files are. */
  env: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** What stands for texts that may hold secrets. */
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
  /** Of this file. */
  version: Schema.Literal(StateFile.version),
  pid: Schema.Int,
  /** By which it is known whether the process of that number is still the same. */
  identity: ProcessIdentity.Identity,
  /** Such as `http://127.0.0.1:7444`. */
  address: Schema.String,
  /** The Unix socket, where there is one. */
  socket: Schema.optional(Schema.String),
  /** The config files that were there when it started. */
  config: Schema.Array(Schema.String),
  sources: Sources,
  /** The version of the program. */
  release: Schema.String,
  /** The revision of the API. */
  api: Schema.Finite,
  /** Epoch milliseconds. */
  startedAt: Schema.Finite,
  /** Whether it has begun to end: it listens no longer, and others may where it did. Defaults to false. */
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
 * Who supervises there: nobody, somebody, somebody who is about to end, somebody whose API is another, or somebody of a later version of this program, of
 * whom nothing more is known. What a process has left that is dead counts as nobody.
 *
 * @since 0.1.0
 * @category models
 */
export type Found =
  | {
      readonly _tag: "Nobody"
      /** What the system calls it, if it does not let us look. */
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
    const found = yield* StateFile.read(fileIn(stateDir), maxBytes)
    if (found._tag === "Newer") return { _tag: "Newer" }
    if (found._tag === "Unreadable") return { _tag: "Nobody", hidden: found.code }
    const daemon = found._tag === "Found" ? decode(found.content) : Option.none()
    if (Option.isNone(daemon)) return { _tag: "Nobody" }
    // of whom nothing can be known, the connection will tell
    const liveness = yield* ProcessIdentity.isAlive(daemon.value.identity)
    if (liveness === "dead") return { _tag: "Nobody" }
    if (daemon.value.isEnding === true) return { _tag: "Ending", daemon: daemon.value }
    return { _tag: daemon.value.api === revision ? "Running" : "OtherApi", daemon: daemon.value }
  })

/**
 * Says who supervises here. The file of a later version is left alone. Fails with what the system calls the error.
 *
 * @since 0.1.0
 * @category files
 */
export const write = (stateDir: string, daemon: DaemonFile): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const path = fileIn(stateDir)
    const found = yield* StateFile.read(path, maxBytes)
    if (found._tag === "Newer") return yield* Effect.fail("newer")
    yield* StateFile.write(path, `${JSON.stringify(daemon, undefined, 2)}\n`)
  })

/**
 * Says that this process begins to end. Where that cannot be written, nothing is said of it any more.
 *
 * @since 0.1.0
 * @category files
 */
export const end = (stateDir: string, pid: number): Effect.Effect<void> =>
  ifOurs(stateDir, pid, (daemon) =>
    Effect.catchAll(write(stateDir, { ...daemon, isEnding: true }), () => StateFile.remove(fileIn(stateDir)))
  )

/**
 * Takes the file away if it is still about this process.
 *
 * @since 0.1.0
 * @category files
 */
export const remove = (stateDir: string, pid: number): Effect.Effect<void> =>
  ifOurs(stateDir, pid, () => StateFile.remove(fileIn(stateDir)))

/** Longer than this nobody who ends waits for a file system. */
const patience = "1 second"

const ifOurs = (stateDir: string, pid: number, act: (daemon: DaemonFile) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const found = yield* StateFile.read(fileIn(stateDir), maxBytes)
    const daemon = found._tag === "Found" ? decode(found.content) : Option.none()
    if (Option.isSome(daemon) && daemon.value.pid === pid) yield* act(daemon.value)
  }).pipe(withinBudget(patience), Effect.asVoid)
