/**
 * Who a process is. Its number alone does not tell: numbers are given again.
 */
import { execFile } from "node:child_process"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname } from "node:os"
import { promisify } from "node:util"
import type { UnknownException } from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defined } from "../domain/internal/defined.js"

const Fact = Schema.optionalWith(Schema.String, { exact: true })

/** All but the number are texts that mean nothing but themselves. What the system does not tell is absent. */
export const Identity = Schema.Struct({
  pid: Schema.Int.pipe(Schema.positive()),
  /** When it was started. */
  startedAt: Fact,
  /** The start of the system it runs on. */
  boot: Fact,
  /** The namespace its number is from. */
  space: Fact,
  /** The machine, for directories that several of them share. */
  machine: Fact
})

export type Identity = typeof Identity.Type

/** Where we are ourselves. */
export type Place = Pick<Identity, "boot" | "space" | "machine">

/** A running process as the system shows it. */
export type Seen = Pick<Identity, "startedAt">

export type Liveness = "alive" | "dead" | "unknown"

interface System {
  readonly place: Effect.Effect<Place>
  /** Gives nothing if no such process runs. */
  readonly look: (pid: number) => Effect.Effect<Seen | undefined>
}

/** Our own process. */
export const self: Effect.Effect<Identity> = Effect.suspend(() => {
  const { look, place } = system()
  return Effect.zipWith(place, look(process.pid), (here, seen) => ({ pid: process.pid, ...seen, ...here }))
})

/**
 * Whether a process still runs. Dead is what certainly runs no more: also one that nobody has buried, and one whose number
 * now belongs to another.
 */
export const isAlive = (identity: Identity): Effect.Effect<Liveness> =>
  Effect.suspend(() => {
    const { look, place } = system()
    return Effect.zipWith(place, look(identity.pid), (here, seen) => judge(identity, here, seen))
  })

/** What follows from where we are, and from what we see there under that number. */
export const judge = (identity: Identity, here: Place, seen: Seen | undefined): Liveness => {
  const isSameBoot = identity.boot !== undefined && identity.boot === here.boot
  if (!isSameBoot && identity.boot !== undefined && here.boot !== undefined) {
    return identity.machine === here.machine ? "dead" : "unknown"
  }
  if (identity.space !== here.space) return "unknown"
  const isSame =
    seen !== undefined &&
    (seen.startedAt === undefined || identity.startedAt === undefined || seen.startedAt === identity.startedAt)
  if (isSame) return "alive"
  // where no system is told from the one before it, a number that nobody has on the same machine is of nobody in either
  const isFree = identity.boot === undefined && here.boot === undefined && seen === undefined
  const isSameMachine = identity.machine !== undefined && identity.machine === here.machine
  return isSameBoot || (isFree && isSameMachine) ? "dead" : "unknown"
}

const system = (): System => {
  if (process.platform === "darwin") return darwin
  return procIsOurs() ? linux : elsewhere
}

/** Whether any process has this number now. */
export const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // somebody who may not be signalled is there nevertheless
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const attempt = <A>(get: () => A): A | undefined => {
  try {
    return get()
  } catch {
    return undefined
  }
}

const textOf = (path: string): string | undefined => attempt(() => readFileSync(path, "latin1").trim()) || undefined

/** Whether `/proc` counts processes as we do: that of another namespace would show us strangers under numbers of ours. */
export const procIsOurs = (): boolean =>
  process.platform === "linux" && attempt(() => readlinkSync("/proc/self")) === String(process.pid)

const linux: System = {
  place: Effect.sync(() =>
    defined({
      boot: textOf("/proc/sys/kernel/random/boot_id"),
      space: attempt(() => readlinkSync("/proc/self/ns/pid")),
      machine: textOf("/etc/machine-id")
    })
  ),
  look: (pid) =>
    Effect.sync(() => {
      const text = textOf(`/proc/${pid}/stat`)
      const stat = text === undefined ? undefined : parseStat(text)
      if (stat !== undefined) return stat.runs ? { startedAt: stat.startedAt } : undefined
      // processes of other users may be hidden
      return exists(pid) ? {} : undefined
    })
}

export interface Stat {
  readonly group: number
  readonly startedAt: string
  /** Whether it is more than an entry that nobody has removed yet. */
  readonly runs: boolean
}

/** A line of `/proc/<pid>/stat`. The name of the program in it may hold anything, brackets and spaces as well. */
export const parseStat = (text: string): Stat | undefined => {
  const [state, , group, ...rest] = text
    .replace(/^.*\) /s, "")
    .trim()
    .split(" ")
  const startedAt = rest[16]
  if (state === undefined || startedAt === undefined) return undefined
  return { group: Number(group), startedAt, runs: state !== "Z" && state !== "X" }
}

/** What a program of the system prints, in the same words everywhere. */
export const ask = (program: string, ...args: ReadonlyArray<string>): Effect.Effect<string, UnknownException> =>
  Effect.tryPromise(async (signal) => {
    const env = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin:/usr/sbin:/sbin" }
    const limits = { timeout: 1000, maxBuffer: 64 * 1024 * 1024, killSignal: "SIGKILL", windowsHide: true } as const
    const { stdout } = await promisify(execFile)(program, args, { ...limits, env, signal })
    return stdout
  })

const darwin: System = {
  // the time of the boot moves when the clock is set: the name of the session is better, where there is one
  place: ask("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid").pipe(
    Effect.filterOrFail((text) => text.trim() !== ""),
    Effect.orElse(() => ask("/usr/sbin/sysctl", "-n", "kern.boottime")),
    Effect.map((text) => ({ boot: text.trim() })),
    Effect.orElseSucceed(() => ({}))
  ),
  look: (pid) =>
    Effect.suspend(() =>
      exists(pid)
        ? ask("/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", String(pid)).pipe(
            Effect.map(parsePs),
            Effect.orElseSucceed(() => (exists(pid) ? {} : undefined))
          )
        : Effect.succeed(undefined)
    )
}

/** A line of the state of a process and the time of its start. */
export const parsePs = (text: string): Seen | undefined => {
  const [, state = "", startedAt = ""] = /^\s*(\S+)\s+(\S.*?)\s*$/s.exec(text) ?? []
  return startedAt === "" || state.startsWith("Z") ? undefined : { startedAt }
}

/**
 * Elsewhere only the number is known: who has it counts as alive. Who is not there is gone, except on Linux, where he may be
 * in another namespace that we cannot tell from ours.
 */
const elsewhere: System = {
  place: Effect.sync(() => (process.platform === "linux" ? {} : { machine: hostname() })),
  look: (pid) => Effect.sync(() => (exists(pid) ? {} : undefined))
}
