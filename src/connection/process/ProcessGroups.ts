/**
 * Tracks the process groups that this process started. A group is killed as a whole, with the processes that a wrapper such as
 * `npx` started.
 */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { isShortage } from "../../domain/internal/shortage.js"
import { codeOf } from "../../system/files/wholeFile.js"
import type { Watch } from "../ProcessGuard.js"
import { killTree } from "../stdio/StdioCommand.js"

export interface ProcessGroups {
  /** Must be called before a process is started. */
  readonly prepare: () => void
  readonly add: (pid: number) => void
  /** Reports that nothing of the group is left, including processes that have left it. */
  readonly remove: (pid: number) => void
  /** Stops tracking a group of which processes may be left. The guard and the ledger keep it. */
  readonly giveUp: (pid: number) => void
  /** Runs the fiber that ends a group. It outlives the connection and is interrupted when the scope of the groups closes. */
  readonly run: (burial: Effect.Effect<void>) => Effect.Effect<Fiber.RuntimeFiber<void>>
}

/** The groups of all connectors in this process: one exit hook serves all of them. */
const trackedGroups = new Set<number>()

/** Kills all groups immediately, without waiting. */
const killAll = () => trackedGroups.forEach((pid) => signal(pid, "SIGKILL"))

let hooks = 0

/** Creates the tracker. While its scope is open, the exit of this process kills the groups that are left. */
export const make = (watch: Watch): Effect.Effect<ProcessGroups, never, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.acquireRelease(Effect.sync(hook), () => Effect.sync(unhook))
    const burials = yield* FiberSet.make<void>()
    return {
      prepare: watch.prepare,
      add: (pid) => {
        trackedGroups.add(pid)
        watch.started(pid)
      },
      remove: (pid) => {
        trackedGroups.delete(pid)
        watch.gone(pid)
      },
      // The pid may soon belong to a different group.
      giveUp: (pid) => void trackedGroups.delete(pid),
      run: (burial) => FiberSet.run(burials, Effect.interruptible(burial))
    }
  })

const hook = () => {
  if (hooks === 0) process.on("exit", killAll)
  hooks += 1
}

const unhook = () => {
  hooks -= 1
  if (hooks === 0) process.off("exit", killAll)
}

/** Signals the group. Returns whether anything was there to signal. */
export const signal = (pid: number, name: "SIGTERM" | "SIGKILL"): boolean => {
  const killer = killTree(process.platform, pid)
  if (killer === undefined) return kill(-pid, name)
  // Windows has no equivalent of SIGTERM; closing stdin was the polite step.
  if (name === "SIGKILL") {
    spawn(killer.command, killer.args, { stdio: "ignore", windowsHide: true, shell: false }).on("error", () => {})
  }
  return isAlive(pid)
}

/** Whether any process of the group exists, zombies included. */
export const isAlive = (pid: number): boolean => kill(process.platform === "win32" ? pid : -pid, 0)

/**
 * Whether any process of the group runs. Without an init process that reaps zombies, as in many containers, they stay in their
 * group forever; only the state of each process tells. Reading it takes milliseconds: check {@link isAlive} first.
 */
export const isRunning = (pid: number): boolean => {
  if (!isAlive(pid) || process.platform !== "linux") return isAlive(pid)
  try {
    return readdirSync("/proc").some((name) => /^\d+$/.test(name) && runsInGroup(name, pid))
  } catch {
    return true
  }
}

const runsInGroup = (name: string, group: number): boolean => {
  try {
    // The fields after the program name, which may hold any character: state, parent, group.
    const [state, , itsGroup] = readFileSync(`/proc/${name}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ", 3)
    return Number(itsGroup) === group && state !== "Z" && state !== "X"
  } catch (error) {
    // Without a free descriptor the state is unknown: the group counts as running.
    if (isShortage(codeOf(error))) throw error
    return false
  }
}

const kill = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(target, name)
  } catch (error) {
    // A process that may not be signalled exists nevertheless.
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
