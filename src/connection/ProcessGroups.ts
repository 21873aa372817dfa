/**
 * The process groups that are ours. A group is killed as a whole: what a wrapper such as `npx` started goes with it.
 */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Watch } from "./ProcessGuard.js"
import { killTree } from "./StdioCommand.js"

export interface ProcessGroups {
  /** Must be called before a process is started. */
  readonly prepare: () => void
  readonly add: (pid: number) => void
  readonly remove: (pid: number) => void
}

/** All groups of this process, whoever started them: one hook on its exit is enough for all. */
const living = new Set<number>()

/** Kills what is left, at once and without waiting. */
const killAll = () => living.forEach((pid) => signal(pid, "SIGKILL"))

let hooks = 0

/** While it is there, the exit of our own process ends the groups that are left. */
export const make = (guard: Watch): Effect.Effect<ProcessGroups, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): ProcessGroups => {
      if (hooks === 0) process.on("exit", killAll)
      hooks += 1
      return {
        prepare: guard.prepare,
        add: (pid) => {
          living.add(pid)
          guard.started(pid)
        },
        remove: (pid) => {
          living.delete(pid)
          guard.gone(pid)
        }
      }
    }),
    () =>
      Effect.sync(() => {
        hooks -= 1
        if (hooks === 0) process.off("exit", killAll)
      })
  )

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
  } catch {
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
