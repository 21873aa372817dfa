/**
 * Claims a state directory for the one supervisor that may run in it, and announces where it listens.
 *
 * @since 0.1.0
 */
import { createServer } from "node:net"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { defined } from "../domain/internal/defined.js"
import { version } from "../domain/internal/version.js"
import * as FileLock from "../system/files/FileLock.js"
import * as StateDirectory from "../system/files/stateDirectory.js"
import * as ProcessIdentity from "../system/processIdentity.js"
import { lockIn } from "./DaemonLock.js"
import { ListenFailed } from "../control/ControlServer.js"
import * as DaemonFile from "./DaemonFile.js"
import * as DaemonState from "./DaemonState.js"
import { revision } from "../control/apiRevision.js"

/**
 * Another process supervises this state directory.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadyRunning extends Schema.TaggedError<AlreadyRunning>("mcp-supervisor/AlreadyRunning")(
  "AlreadyRunning",
  {
    stateDir: Schema.String,
    /** The process that supervises the directory. */
    pid: Schema.optional(Schema.Int),
    /** The address at which it listens. */
    address: Schema.optional(Schema.String),
    /** The lock file of the claim. */
    lock: Schema.optional(Schema.String)
  }
) {
  override get message(): string {
    const who = this.pid === undefined ? "another process" : `process ${this.pid}`
    const where = this.address === undefined ? "" : ` at ${this.address}`
    const claim = this.pid === undefined && this.lock !== undefined ? ` (${this.lock})` : ""
    return `${who} supervises ${this.stateDir} already${where}${claim}; use it, stop it, or choose another state directory`
  }
}

/**
 * The state directory cannot be written, is unsafe, or was used by a later version.
 *
 * @since 0.1.0
 * @category errors
 */
export class StateDirUnusable extends Schema.TaggedError<StateDirUnusable>("mcp-supervisor/StateDirUnusable")(
  "StateDirUnusable",
  {
    stateDir: Schema.String,
    /** The system's error code; `newer` if a later version of this program used the directory; otherwise why it is unsafe. */
    code: Schema.String,
    /** What makes the directory unsafe, and how to correct it. */
    problem: Schema.optional(Schema.String)
  }
) {
  override get message(): string {
    if (this.problem !== undefined) return this.problem
    return this.code === "newer"
      ? `${this.stateDir} was used by a later version of this program: use that one, or choose another state directory`
      : `${this.stateDir} cannot be written (${this.code}); choose another state directory`
  }
}

/** How long to wait for the lock: a supervisor that is shutting down may release it in this time. */
const patience = "250 millis"

/**
 * Claims the directory as long as the scope is open. The claim of a dead process is ignored.
 *
 * @since 0.1.0
 * @category claiming
 */
export const hold = (stateDir: string): Effect.Effect<void, AlreadyRunning | StateDirUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.mapError(
      StateDirectory.check(stateDir),
      ({ code, message }) => new StateDirUnusable({ stateDir, code, problem: message })
    )
    const lock = yield* FileLock.make(lockIn(stateDir), { patience })
    const locked = yield* Deferred.make<void, FileLock.LockFailed>()
    yield* lock.withLock(Effect.zipRight(Deferred.succeed(locked, undefined), Effect.never)).pipe(
      Effect.catchAll((failure) => Deferred.fail(locked, failure)),
      Effect.forkScoped
    )
    yield* Effect.catchAll(Deferred.await(locked), (failure) =>
      Effect.flatMap(explainLockFailure(stateDir, failure), Effect.fail)
    )
    const { _tag: state } = yield* DaemonState.find(stateDir)
    if (state === "Newer") return yield* new StateDirUnusable({ stateDir, code: "newer" })
  })

const explainLockFailure = (
  stateDir: string,
  { code = "unknown", path, pid, reason }: FileLock.LockFailed
): Effect.Effect<AlreadyRunning | StateDirUnusable> =>
  reason === "unusable"
    ? Effect.succeed(new StateDirUnusable({ stateDir, code }))
    : Effect.map(DaemonState.find(stateDir), (state) => {
        const address = "daemon" in state && state.daemon.pid === pid ? state.daemon.address : undefined
        return new AlreadyRunning({ stateDir, ...defined({ pid, address, lock: path }) })
      })

/**
 * Writes process, address and configuration of this supervisor to `daemon.json`.
 *
 * @since 0.1.0
 * @category claiming
 */
export const announce = (
  stateDir: string,
  location: Pick<DaemonFile.DaemonFile, "address" | "socket" | "config" | "sources">
): Effect.Effect<void, StateDirUnusable> =>
  Effect.gen(function* () {
    const identity = yield* ProcessIdentity.self
    const startedAt = yield* Clock.currentTimeMillis
    const daemon = {
      version: 1,
      pid: process.pid,
      identity,
      ...location,
      release: version,
      api: revision,
      startedAt
    } as const
    yield* Effect.mapError(DaemonFile.write(stateDir, daemon), (code) => new StateDirUnusable({ stateDir, code }))
  })

/**
 * Checks that a port is free, before anything is started. Another process may still take the port before the supervisor
 * listens; then listening fails.
 *
 * @since 0.1.0
 * @category claiming
 */
export const tryPort = (host: string, port: number): Effect.Effect<void, ListenFailed> =>
  port === 0
    ? Effect.void
    : Effect.async((resume) => {
        const probe = createServer()
        probe.once("error", (error: NodeJS.ErrnoException) =>
          resume(Effect.fail(new ListenFailed({ address: `${host}:${port}`, code: error.code ?? "unknown" })))
        )
        probe.listen({ host, port }, () => probe.close(() => resume(Effect.void)))
      })
