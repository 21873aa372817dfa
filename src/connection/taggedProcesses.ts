/**
 * The processes that carry the tag of a run in their environment, wherever they went: those we started, and what these
 * started. The tag is random, so nobody else carries it.
 */
import { readdirSync, readFileSync } from "node:fs"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ProcessGroups from "./ProcessGroups.js"
import { ask, parseStat, procIsOurs } from "../system/processIdentity.js"
import { childVariable, guardVariable, runVariable, type Tag } from "./StdioCommand.js"

/** A process, and what its environment says. */
export interface Row {
  readonly pid: number
  readonly group: number
  /** The run it belongs to, if that is one of those looked for. */
  readonly run: string | undefined
  /** The server of that run. */
  readonly child: string | undefined
  /** The supervisor that it is the guard of. */
  readonly guards: number | undefined
}

/** What to signal: whole groups, and single processes. */
export interface Targets {
  readonly groups: ReadonlyArray<number>
  readonly singles: ReadonlyArray<number>
}

/** How long a process may take to end after SIGTERM. */
const grace = "1500 millis"

/** How long the system may take to carry out SIGKILL. */
const killGrace = "500 millis"

/** Looks often at first: most are gone at once. */
const looks = Schedule.union(Schedule.exponential("20 millis"), Schedule.spaced("200 millis"))

/**
 * Ends all processes of the runs: SIGTERM, then SIGKILL. Gives the runs they were of, one for each process that was there.
 * Fails if it cannot be seen who carries a tag, or if some are still there.
 */
export const end = (runs: ReadonlySet<string>): Effect.Effect<ReadonlyArray<string>, unknown> =>
  Effect.gen(function* () {
    const found = yield* list(runs)
    const first = targets(found, process.pid)
    if (isEmpty(first)) return []
    signal(first, "SIGTERM")
    if (!(yield* areGone(runs, first, grace))) {
      // by their tags once more: a number may be another's by now, and there may be new ones
      const { groups, singles } = targets(yield* list(runs), process.pid)
      const left = first.groups.filter((group) => ProcessGroups.isRunning(group))
      signal({ groups: [...new Set([...left, ...groups])], singles }, "SIGKILL")
      if (!(yield* areGone(runs, first, killGrace))) return yield* Effect.fail("some cannot be ended")
    }
    return taggedOf(found, process.pid).map(({ run }) => run)
  })

type Tagged = Row & { readonly run: string }

/** The processes that carry a tag, without our own, and without supervisors that were started from within a server. */
const taggedOf = (rows: ReadonlyArray<Row>, self: number): ReadonlyArray<Tagged> => {
  const supervisors = supervisorsIn(rows)
  return rows.filter((row): row is Tagged => {
    const { pid, run } = row
    return run !== undefined && pid !== self && pid > 1 && !supervisors.has(pid)
  })
}

/** A process with a guard is a supervisor. */
const supervisorsIn = (rows: ReadonlyArray<Row>): ReadonlySet<number> =>
  new Set(rows.flatMap(({ guards }) => guards ?? []))

/**
 * A group goes as a whole if its leader carries the tag: then all of it came from there. Our own process is never among
 * them, nor is our own group, nor a supervisor that was started from within a server.
 */
export const targets = (rows: ReadonlyArray<Row>, self: number): Targets => {
  const supervisors = supervisorsIn(rows)
  const spared = new Set(rows.filter(({ pid }) => pid === self || supervisors.has(pid)).map(({ group }) => group))
  const isOwnKnown = rows.some(({ pid }) => pid === self)
  const tagged = taggedOf(rows, self)
  // without knowing our own group we could hit it
  const leaders = isOwnKnown ? tagged.filter(({ group, pid }) => pid === group && !spared.has(group)) : []
  const groups = new Set(leaders.map(({ pid }) => pid))
  return {
    groups: [...groups],
    singles: tagged.filter(({ group }) => !groups.has(group)).map(({ pid }) => pid)
  }
}

/** The processes of one server that have left its group, for a session of their own. */
export const straysOf = (rows: ReadonlyArray<Row>, tag: Tag, group: number, self: number): ReadonlyArray<number> =>
  taggedOf(rows, self)
    .filter((row) => row.run === tag.run && row.child === tag.child && row.group !== group)
    .map(({ pid }) => pid)

/** Signals a process if it still carries the tag: its number may belong to another one by now. */
export const signalStray = (pid: number, { child, run }: Tag, name: "SIGTERM" | "SIGKILL"): void => {
  if (process.platform === "linux") {
    const entries = environOf(String(pid))
    if (!entries.includes(`${runVariable}=${run}`) || !entries.includes(`${childVariable}=${child}`)) return
  }
  signal({ groups: [], singles: [pid] }, name)
}

const isEmpty = ({ groups, singles }: Targets): boolean => groups.length === 0 && singles.length === 0

const signal = ({ groups, singles }: Targets, name: "SIGTERM" | "SIGKILL"): void => {
  for (const group of groups) ProcessGroups.signal(group, name)
  for (const pid of singles) {
    try {
      process.kill(pid, name)
    } catch {
      // it has just ended
    }
  }
}

const areGone = (runs: ReadonlySet<string>, { groups }: Targets, budget: Duration.DurationInput) =>
  Effect.map(
    list(runs),
    (rows) => isEmpty(targets(rows, process.pid)) && !groups.some((group) => ProcessGroups.isRunning(group))
  ).pipe(
    Effect.repeat({ until: (gone) => gone, schedule: looks }),
    Effect.as(true),
    Effect.timeoutTo({ duration: budget, onSuccess: (gone) => gone, onTimeout: () => false })
  )

/** All processes, with what their environment says of these runs. Fails where that cannot be seen. */
export const list = (runs: ReadonlySet<string>): Effect.Effect<ReadonlyArray<Row>, unknown> =>
  Effect.suspend((): Effect.Effect<ReadonlyArray<Row>, unknown> => {
    if (process.platform === "darwin") return listWithPs(runs)
    return procIsOurs() ? Effect.try(() => listProc(runs)) : Effect.fail("who carries a tag cannot be seen here")
  })

/**
 * All processes, without the environments of those that are older than our own: everything that we started is younger. That
 * takes half the time of {@link list}.
 */
export const listYounger = (runs: ReadonlySet<string>): Effect.Effect<ReadonlyArray<Row>, unknown> =>
  Effect.suspend(() => {
    const since = procIsOurs() ? Number(parseStat(readFileSync("/proc/self/stat", "latin1"))?.startedAt) : Number.NaN
    return Number.isFinite(since) ? Effect.try(() => listProc(runs, since)) : list(runs)
  })

/** All at once and without waiting, so that what is seen is still true when it is acted upon. */
const listProc = (runs: ReadonlySet<string>, since = 0): ReadonlyArray<Row> =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = parseStat(readFileSync(`/proc/${name}/stat`, "latin1"))
      if (stat?.runs !== true) return []
      const entries = Number(stat.startedAt) < since ? [] : environOf(name)
      return [{ pid: Number(name), group: stat.group, ...marksIn(runs, entries) }]
    } catch {
      return []
    }
  })

/** What may not be read is somebody else's. */
const environOf = (name: string): ReadonlyArray<string> => {
  try {
    return readFileSync(`/proc/${name}/environ`, "latin1").split("\0")
  } catch {
    return []
  }
}

const marksIn = (runs: ReadonlySet<string>, entries: ReadonlyArray<string>): Omit<Row, "pid" | "group"> => {
  const valuesOf = (name: string) =>
    entries.flatMap((entry) => (entry.startsWith(`${name}=`) ? [entry.slice(name.length + 1)] : []))
  const run = valuesOf(runVariable).find((each) => runs.has(each))
  const guarded = Number(valuesOf(guardVariable)[0])
  return {
    run,
    child: run === undefined ? undefined : valuesOf(childVariable)[0],
    guards: Number.isInteger(guarded) ? guarded : undefined
  }
}

const listWithPs = (runs: ReadonlySet<string>) =>
  Effect.zipWith(
    ask("/bin/ps", "-axww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    ask("/bin/ps", "-axEww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    (plain, withEnvironment) => parsePs(runs, plain, withEnvironment)
  )

/**
 * Two lists of the same processes, the second with the environment behind the command line. What stands on a command line
 * is no tag.
 */
export const parsePs = (runs: ReadonlySet<string>, plain: string, withEnvironment: string): ReadonlyArray<Row> => {
  const commands = new Map(psLines(plain).map(({ command, pid }) => [pid, command]))
  return psLines(withEnvironment).map(({ command, group, pid }) => {
    const known = commands.get(pid)
    const environment = known !== undefined && command.startsWith(known) ? command.slice(known.length) : ""
    return { pid, group, ...marksIn(runs, environment.split(/\s+/)) }
  })
}

const psLines = (text: string) =>
  text.split("\n").flatMap((line) => {
    const [, pid, group, command] = /^\s*(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? []
    return command === undefined ? [] : [{ pid: Number(pid), group: Number(group), command: command.trim() }]
  })
