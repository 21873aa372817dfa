/** Finds the processes of a test by an entry of their environment, which all descendants inherit. */
import { readdirSync, readFileSync } from "node:fs"
import { Effect } from "effect"

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** The running processes that were started with this entry (`NAME=value`). */
export const processesCarrying = (entry: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).split("\0").includes(entry))
    .filter((name) => !/^\d+ \(.*\) Z/s.test(read(`/proc/${name}/stat`)))
    .map(Number)
    .filter((pid) => pid !== process.pid)

/** The running processes with this word in their command line. */
export const processesCalled = (word: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`).split("\0").includes(word))
    .map(Number)

/** The command line of a process, or an empty text if it has exited. */
export const commandOf = (pid: number): string => read(`/proc/${pid}/cmdline`)

/** The guard processes of a supervisor. */
export const guardsOf = (supervisor: number | undefined): ReadonlyArray<number> =>
  processesCarrying(`MCP_SUPERVISOR_GUARD=${supervisor}`)

/** A mark for the servers of one test. All processes with it are killed after the test. */
export const mark = (name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => `${name}-${process.pid}-${performance.now()}`),
    (value) =>
      Effect.sync(() => {
        for (const pid of processesCarrying(`TEST_MARK=${value}`)) process.kill(pid, "SIGKILL")
      })
  )
