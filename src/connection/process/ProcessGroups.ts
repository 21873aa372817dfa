/**
 * The process groups that are ours. A group is killed as a whole: what a wrapper such as `npx` started goes with it.
 */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { isShortage } from "../../domain/internal/shortage.js"
import { codeOf } from "../../system/wholeFile.js"
import type { Watch } from "../ProcessGuard.js"
import { killTree } from "../stdio/StdioCommand.js"

export interface ProcessGroups {
  /** Must be called before a process is started. */
  readonly prepare: () => void
  readonly add: (pid: number) => void
  /** Nothing of the group is left, nor of what has left it. */
  readonly remove: (pid: number) => void
  /** All was done that we can do; whether anything is left could not be seen. The guard and the ledger do not forget it. */
  readonly giveUp: (pid: number) => void
  /** Runs what sees to the end of a group. It outlives the connection, and is interrupted when the scope of the groups closes. */
  readonly run: (burial: Effect.Effect<void>) => Effect.Effect<Fiber.RuntimeFiber<void>>
}

/** All groups of this process, whoever started them: one hook on its exit is enough for all. */
const living = new Set<number>()

/** Kills what is left, at once and without waiting. */
const killAll = () => living.forEach((pid) => signal(pid, "SIGKILL"))

let hooks = 0

/** While it is there, the exit of our own process ends the groups that are left. */
export const make = (watch: Watch): Effect.Effect<ProcessGroups, never, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.acquireRelease(Effect.sync(hook), () => Effect.sync(unhook))
    const burials = yield* FiberSet.make<void>()
    return {
      prepare: watch.prepare,
      add: (pid) => {
        living.add(pid)
        watch.started(pid)
      },
      remove: (pid) => {
        living.delete(pid)
        watch.gone(pid)
      },
      // its number may soon be that of another group
      giveUp: (pid) => void living.delete(pid),
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

/** Whether anything was there to be signalled. */
export const signal = (pid: number, name: "SIGTERM" | "SIGKILL"): boolean => {
  const killer = killTree(process.platform, pid)
  if (killer === undefined) return kill(-pid, name)
  // there is no polite signal: closing its stdin was the polite step
  if (name === "SIGKILL") {
    spawn(killer.command, killer.args, { stdio: "ignore", windowsHide: true, shell: false }).on("error", () => {})
  }
  return isAlive(pid)
}

/** Whether anything of the group is left. */
export const isAlive = (pid: number): boolean => kill(process.platform === "win32" ? pid : -pid, 0)

/**
 * Whether anything of the group still runs. Where nobody buries the dead, as in many a container, they count as part of
 * their group for ever; only a look at each process tells. That takes milliseconds: ask {@link isAlive} first.
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
    // behind the name of the program, which may hold anything: state, parent, group
    const [state, , itsGroup] = readFileSync(`/proc/${name}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ", 3)
    return Number(itsGroup) === group && state !== "Z" && state !== "X"
  } catch (error) {
    // without a free descriptor nothing is known about it, and it counts as running
    if (isShortage(codeOf(error))) throw error
    return false
  }
}

const kill = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(target, name)
  } catch (error) {
    // somebody who may not be signalled is there nevertheless
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
