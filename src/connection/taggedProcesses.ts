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
import { runVariable } from "./StdioCommand.js"

/** A process, and the run it belongs to if that is one of those looked for. */
export interface Row {
  readonly pid: number
  readonly group: number
  readonly run: string | undefined
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
    return found.flatMap(({ pid, run }) => (run === undefined || pid === process.pid ? [] : [run]))
  })

/**
 * A group goes as a whole if its leader carries the tag: then all of it came from there. Our own process is never among
 * them, nor is our own group.
 */
export const targets = (rows: ReadonlyArray<Row>, self: number): Targets => {
  const own = rows.find(({ pid }) => pid === self)
  const tagged = rows.filter(({ pid, run }) => run !== undefined && pid !== self && pid > 1)
  // without knowing our own group we could hit it
  const leaders = own === undefined ? [] : tagged.filter(({ group, pid }) => pid === group && group !== own.group)
  const groups = new Set(leaders.map(({ pid }) => pid))
  return {
    groups: [...groups],
    singles: tagged.filter(({ group }) => !groups.has(group)).map(({ pid }) => pid)
  }
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

const list = (runs: ReadonlySet<string>): Effect.Effect<ReadonlyArray<Row>, unknown> =>
  Effect.suspend((): Effect.Effect<ReadonlyArray<Row>, unknown> => {
    if (process.platform === "darwin") return listWithPs(runs)
    return procIsOurs() ? Effect.try(() => listProc(runs)) : Effect.fail("who carries a tag cannot be seen here")
  })

/** All at once and without waiting, so that what is seen is still true when it is acted upon. */
const listProc = (runs: ReadonlySet<string>): ReadonlyArray<Row> =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = parseStat(readFileSync(`/proc/${name}/stat`, "latin1"))
      return stat?.runs === true ? [{ pid: Number(name), group: stat.group, run: runIn(runs, environOf(name)) }] : []
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

const runIn = (runs: ReadonlySet<string>, entries: ReadonlyArray<string>): string | undefined => {
  const prefix = `${runVariable}=`
  return entries
    .filter((entry) => entry.startsWith(prefix))
    .map((entry) => entry.slice(prefix.length))
    .find((run) => runs.has(run))
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
    return { pid, group, run: runIn(runs, environment.split(/\s+/)) }
  })
}

const psLines = (text: string) =>
  text.split("\n").flatMap((line) => {
    const [, pid, group, command] = /^\s*(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? []
    return command === undefined ? [] : [{ pid: Number(pid), group: Number(group), command: command.trim() }]
  })
