/**
 * Identifies a process across restarts of the supervisor. The pid alone is not enough, because the system reuses pids.
 */
import { execFile } from "node:child_process"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname } from "node:os"
import { promisify } from "node:util"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defined } from "../domain/internal/defined.js"

const OptionalText = Schema.optionalWith(Schema.String, { exact: true })

/** The identity of a process. All fields except `pid` are opaque texts, absent if the system does not provide them. */
export const Identity = Schema.Struct({
  pid: Schema.Int.pipe(Schema.positive()),
  /** When the process was started. */
  startedAt: OptionalText,
  /** The boot of the system on which it runs. */
  boot: OptionalText,
  /** The namespace of its pid. */
  space: OptionalText,
  /** The machine, for directories that several machines share. */
  machine: OptionalText
})

export type Identity = typeof Identity.Type

/** Where the current process runs. */
export type ProcessPlace = Pick<Identity, "boot" | "space" | "machine">

/** A running process as the system reports it. */
export type RunningProcess = Pick<Identity, "startedAt">

export type Liveness = "alive" | "dead" | "unknown"

interface System {
  readonly place: Effect.Effect<ProcessPlace>
  /** Undefined if no such process runs. */
  readonly inspect: (pid: number) => Effect.Effect<RunningProcess | undefined>
}

/** The identity of the current process. */
export const self: Effect.Effect<Identity> = Effect.suspend(() => {
  const { inspect, place } = system()
  return Effect.zipWith(place, inspect(process.pid), (currentPlace, running) => ({
    pid: process.pid,
    ...running,
    ...currentPlace
  }))
})

/**
 * Whether a process still runs. `dead` means that it certainly does not: this includes a zombie, and a process whose pid now
 * belongs to another process.
 */
export const isAlive = (identity: Identity): Effect.Effect<Liveness> =>
  Effect.suspend(() => {
    const { inspect, place } = system()
    return Effect.zipWith(place, inspect(identity.pid), (currentPlace, running) =>
      judge(identity, currentPlace, running)
    )
  })

/** Computes the liveness of a process from the place of the current process and from what the system reports for its pid. */
export const judge = (
  identity: Identity,
  currentPlace: ProcessPlace,
  running: RunningProcess | undefined
): Liveness => {
  const isSameBoot = identity.boot !== undefined && identity.boot === currentPlace.boot
  if (!isSameBoot && identity.boot !== undefined && currentPlace.boot !== undefined) {
    return identity.machine === currentPlace.machine ? "dead" : "unknown"
  }
  if (identity.space !== currentPlace.space) return "unknown"
  const isSame =
    running !== undefined &&
    (running.startedAt === undefined || identity.startedAt === undefined || running.startedAt === identity.startedAt)
  if (isSame) return "alive"
  // without boot ids, a pid that is free on the same machine is free whether or not the machine was restarted
  const isFree = identity.boot === undefined && currentPlace.boot === undefined && running === undefined
  const isSameMachine = identity.machine !== undefined && identity.machine === currentPlace.machine
  return isSameBoot || (isFree && isSameMachine) ? "dead" : "unknown"
}

const system = (): System => {
  if (process.platform === "darwin") return darwin
  return procIsOurs() ? linux : otherSystem
}

/** Whether any process has this pid now. */
export const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // a process that may not be signalled exists nevertheless
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const tryOrUndefined = <A>(get: () => A): A | undefined => {
  try {
    return get()
  } catch {
    return undefined
  }
}

const readText = (path: string): string | undefined =>
  tryOrUndefined(() => readFileSync(path, "latin1").trim()) || undefined

/** Whether `/proc` has the pids of this process's namespace: that of another one would show other processes under the same pids. */
export const procIsOurs = (): boolean =>
  process.platform === "linux" && tryOrUndefined(() => readlinkSync("/proc/self")) === String(process.pid)

const linux: System = {
  place: Effect.sync(() =>
    defined({
      boot: readText("/proc/sys/kernel/random/boot_id"),
      space: tryOrUndefined(() => readlinkSync("/proc/self/ns/pid")),
      machine: readText("/etc/machine-id")
    })
  ),
  inspect: (pid) =>
    Effect.sync(() => {
      const text = readText(`/proc/${pid}/stat`)
      const stat = text === undefined ? undefined : parseStat(text)
      if (stat !== undefined) return stat.runs ? { startedAt: stat.startedAt } : undefined
      // `/proc` may hide processes of other users
      return exists(pid) ? {} : undefined
    })
}

/** The fields of `/proc/<pid>/stat` that are used. */
export interface Stat {
  readonly group: number
  readonly startedAt: string
  /** Whether the process runs: it is neither a zombie nor dead. */
  readonly runs: boolean
}

/** Parses the text of `/proc/<pid>/stat`. The program name in it can contain any character, including brackets and spaces. */
export const parseStat = (text: string): Stat | undefined => {
  const [state, , group, ...rest] = text
    .replace(/^.*\) /s, "")
    .trim()
    .split(" ")
  const startedAt = rest[16]
  if (state === undefined || startedAt === undefined) return undefined
  return { group: Number(group), startedAt, runs: state !== "Z" && state !== "X" }
}

/** Runs a program of the system and returns its output, independent of locale and time zone. */
export const ask = (program: string, ...args: ReadonlyArray<string>): Effect.Effect<string, UnknownException> =>
  Effect.tryPromise(async (signal) => {
    const env = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin:/usr/sbin:/sbin" }
    const limits = { timeout: 1000, maxBuffer: 64 * 1024 * 1024, killSignal: "SIGKILL", windowsHide: true } as const
    const { stdout } = await promisify(execFile)(program, args, { ...limits, env, signal })
    return stdout
  })

const darwin: System = {
  // setting the clock changes the boot time, so the id of the boot session is preferred
  place: ask("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid").pipe(
    Effect.filterOrFail((text) => text.trim() !== ""),
    Effect.orElse(() => ask("/usr/sbin/sysctl", "-n", "kern.boottime")),
    Effect.map((text) => ({ boot: text.trim() })),
    Effect.orElseSucceed(() => ({}))
  ),
  inspect: (pid) =>
    Effect.suspend(() =>
      exists(pid)
        ? ask("/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", String(pid)).pipe(
            Effect.map(parsePs),
            Effect.orElseSucceed(() => (exists(pid) ? {} : undefined))
          )
        : Effect.succeed(undefined)
    )
}

/** Parses the state and start time that `ps` prints. Undefined for a zombie or an unknown format. */
export const parsePs = (text: string): RunningProcess | undefined => {
  const [, state = "", startedAt = ""] = /^\s*(\S+)\s+(\S.*?)\s*$/s.exec(text) ?? []
  return startedAt === "" || state.startsWith("Z") ? undefined : { startedAt }
}

/**
 * Systems on which only the pid is known: a process that has it counts as alive. A process that is missing is dead, except on
 * Linux, where it can be in another namespace that cannot be distinguished from the current one.
 */
const otherSystem: System = {
  place: Effect.sync(() => (process.platform === "linux" ? {} : { machine: hostname() })),
  inspect: (pid) => Effect.sync(() => (exists(pid) ? {} : undefined))
}
