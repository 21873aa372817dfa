/**
 * A supervisor for a command: the running one, if it serves the same config files, else one of our own.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as DaemonLock from "../../daemon/DaemonLock.js"
import { discover } from "../../daemon/discover.js"
import { CommandFailed, WrongUsage } from "../failure.js"
import { hostOf } from "./commandHost.js"
import type { HandleFailure, SupervisorHandle } from "./SupervisorHandle.js"
import * as RemoteSupervisor from "./RemoteSupervisor.js"
import { Screen } from "../terminal/Screen.js"
import type { Shared } from "../words/spec.js"

export interface Options {
  /** The servers it is about. Defaults to all. */
  readonly only?: ReadonlyArray<string> | ((name: string) => boolean) | undefined
}

export const withSupervisor = <A, E, R>(
  shared: Shared,
  { only }: Options,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | HandleFailure, Exclude<R, Scope.Scope> | Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const running = shared.standalone ? undefined : yield* reachRunning(shared)
    if (running !== undefined && !isPassedOver(running)) return yield* use(running)
    if (running !== undefined) yield* screen.note(`${running.passedOver}; this command runs its own`)
    const { make } = yield* Effect.promise(() => import("./LocalSupervisor.js"))
    const handle = yield* make(shared, { only: typeof only === "object" ? (name) => only.includes(name) : only })
    return yield* use(handle)
  }).pipe(Effect.scoped)

/** Fails where no supervisor runs. */
export const withRunning = <A, E, R>(
  shared: Shared,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | HandleFailure, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    if (shared.standalone) {
      return yield* new WrongUsage({ message: "this command is for the running supervisor: leave out --standalone" })
    }
    const running = yield* reachRunning(shared)
    if (running !== undefined && !isPassedOver(running)) return yield* use(running)
    return yield* new CommandFailed({
      message:
        running === undefined
          ? "no supervisor is running; start one: mcp-supervisor start"
          : `${running.passedOver}, so there is none for this command; ${running.advice}`
    })
  }).pipe(Effect.scoped)

/** Does nothing where no supervisor runs. */
export const ifRunning = <A, E, R>(
  shared: Shared,
  use: (handle: SupervisorHandle) => Effect.Effect<A, E, R>
): Effect.Effect<void, E | HandleFailure, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const running = shared.standalone ? undefined : yield* reachRunning(shared)
    if (running !== undefined && !isPassedOver(running)) yield* use(running)
  }).pipe(Effect.scoped)

/** What is left to say to whoever followed it. */
export const supervisorEnded = "the supervisor ended"

/** Nothing is known of who may run there. */
export const laterRelease = (stateDir: string) =>
  new CommandFailed({
    message: `a later release was used with ${stateDir}; use that one, --standalone, or another --state-dir`
  })

interface PassedOver {
  /** Who it is, and why. */
  readonly passedOver: string
  /** What to do about it. */
  readonly advice: string
}

const isPassedOver = (found: SupervisorHandle | PassedOver): found is PassedOver => "passedOver" in found

const reachRunning = (
  shared: Shared
): Effect.Effect<SupervisorHandle | PassedOver | undefined, HandleFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const host = hostOf(shared)
    const located = yield* discover(host)
    switch (located._tag) {
      case "Nobody": {
        const holder = yield* DaemonLock.livingHolder(host.stateDir)
        if (holder === undefined) return undefined
        return {
          passedOver: `the supervisor (process ${holder.pid}) does not say where it is: it has only begun, or its daemon.json is gone`,
          advice: "try again; if that does not help, start it again: mcp-supervisor stop; mcp-supervisor start"
        }
      }
      case "Running":
        return yield* RemoteSupervisor.make(located.daemon, host)
      case "OtherFiles":
        return {
          passedOver: `the running supervisor (process ${located.daemon.pid}) serves other config files`,
          advice: "stop it first: mcp-supervisor stop; or start one beside it with another --state-dir"
        }
      case "Ending":
        return {
          passedOver: `the supervisor (process ${located.daemon.pid}) is about to end`,
          advice: "start another: mcp-supervisor start"
        }
      case "OtherApi":
        return yield* new CommandFailed({
          message: `the running supervisor (process ${located.daemon.pid}) is of release ${located.daemon.release}, which this one cannot talk to; restart it, or use --standalone`
        })
      case "Newer":
        return yield* laterRelease(host.stateDir)
    }
  })
