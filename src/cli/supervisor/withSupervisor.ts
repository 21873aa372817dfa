/**
 * Chooses the supervisor of a command: the running one if it serves the same config files, otherwise one of its own.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { discover } from "../../daemon/discover.js"
import { CommandFailed, WrongUsage } from "../failure.js"
import { hostOf } from "./commandHost.js"
import type { HandleFailure, SupervisorHandle } from "./SupervisorHandle.js"
import * as RemoteSupervisor from "./RemoteSupervisor.js"
import { Screen } from "../terminal/Screen.js"
import type { Shared } from "../words/spec.js"

export interface Options {
  /** The servers that the command needs. Others are not started if the command runs its own supervisor. Defaults to all. */
  readonly only?: ReadonlyArray<string> | ((name: string) => boolean) | undefined
}

export const withSupervisor = <A, E, R>(
  shared: Shared,
  { only }: Options,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | HandleFailure, Exclude<R, Scope.Scope> | Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const found = yield* findRunning(shared)
    if (found._tag === "Usable") return yield* use(found.handle)
    if (found._tag === "Unusable") yield* screen.note(`${found.reason}; this command runs its own`)
    const { make } = yield* Effect.promise(() => import("./LocalSupervisor.js"))
    const handle = yield* make(shared, { only: typeof only === "object" ? (name) => only.includes(name) : only })
    return yield* use(handle)
  }).pipe(Effect.scoped)

/** Fails if the command cannot use a running supervisor. */
export const withRunning = <A, E, R>(
  shared: Shared,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | HandleFailure, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    if (shared.standalone) {
      return yield* new WrongUsage({ message: "this command needs the running supervisor: leave out --standalone" })
    }
    const found = yield* findRunning(shared)
    if (found._tag === "Usable") return yield* use(found.handle)
    return yield* new CommandFailed({
      message:
        found._tag === "None"
          ? "no supervisor is running; start one: mcp-supervisor start"
          : `${found.reason}, so this command cannot use it; ${found.advice}`
    })
  }).pipe(Effect.scoped)

/** Does nothing if the command cannot use a running supervisor. */
export const ifRunning = <A, E, R>(
  shared: Shared,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<void, E | HandleFailure, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const found = yield* findRunning(shared)
    if (found._tag === "Usable") yield* use(found.handle)
  }).pipe(Effect.scoped)

/** Printed by commands that follow a stream, when the supervisor shuts down. */
export const supervisorEnded = "the supervisor ended"

export const laterRelease = (stateDir: string) =>
  new CommandFailed({
    message: `a later release was used with ${stateDir}; use that release, --standalone, or another --state-dir`
  })

type RunningSupervisor =
  | { readonly _tag: "None" }
  | { readonly _tag: "Usable"; readonly handle: SupervisorHandle }
  /** A supervisor runs, but not for this command. */
  | { readonly _tag: "Unusable"; readonly reason: string /** What the user can do. */; readonly advice: string }

const unusable = (reason: string, advice: string): RunningSupervisor => ({ _tag: "Unusable", reason, advice })

const findRunning = (shared: Shared): Effect.Effect<RunningSupervisor, HandleFailure, Scope.Scope> =>
  Effect.gen(function* () {
    if (shared.standalone) return { _tag: "None" }
    const host = hostOf(shared)
    const state = yield* discover(host)
    switch (state._tag) {
      case "None":
      case "Unreadable":
      case "Elsewhere":
        return { _tag: "None" }
      case "Starting":
      case "Unannounced":
        return unusable(
          `the supervisor (process ${state.holder.pid}) is still starting, or its daemon.json was removed`,
          "try again; if that does not help, start it again: mcp-supervisor stop; mcp-supervisor start"
        )
      case "Running":
        return { _tag: "Usable", handle: yield* RemoteSupervisor.make(state.daemon, host) }
      case "OtherFiles":
        return unusable(
          `the running supervisor (process ${state.daemon.pid}) serves other config files`,
          "stop it first: mcp-supervisor stop; or start one beside it with another --state-dir"
        )
      case "ShuttingDown":
        return unusable(
          `the supervisor (process ${state.daemon.pid}) is shutting down`,
          "start another: mcp-supervisor start"
        )
      case "OtherApi":
        return yield* new CommandFailed({
          message: `the running supervisor (process ${state.daemon.pid}) has release ${state.daemon.release}, whose control API this release does not support; restart it, or use --standalone`
        })
      case "Newer":
        return yield* laterRelease(host.stateDir)
    }
  })
