/**
 * Finds and ends the processes that carry the tag of a run in their environment. These are servers and all their descendants.
 * The tag is random, so no other process carries it.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { variables } from "../../system/environment.js"
import * as ProcessGroups from "./ProcessGroups.js"
import { type CannotLook, environOf, list, type Row } from "./processRows.js"
import type { Tag } from "../stdio/StdioCommand.js"

/** The tag of each run, with the process groups that its supervisor started. */
export type RunGroups = ReadonlyMap<string, ReadonlySet<number>>

/** The processes to signal: whole groups, and single processes. */
export interface Targets {
  readonly groups: ReadonlyArray<number>
  readonly singles: ReadonlyArray<number>
}

/** The time a process has to end after SIGTERM. */
const grace = "1500 millis"

/** The time the system has to carry out SIGKILL. */
const killGrace = "500 millis"

/** Checks often at first: most processes end immediately. */
const looks = Schedule.union(Schedule.exponential("20 millis"), Schedule.spaced("200 millis"))

/**
 * Ends all processes of the runs: SIGTERM, then SIGKILL. Returns the tag of each process that was found. Fails if the
 * environments cannot be read, or if processes are still running.
 */
export const end = (runs: RunGroups): Effect.Effect<ReadonlyArray<string>, CannotLook | "some cannot be ended"> =>
  Effect.gen(function* () {
    const taggedRows = yield* list(runs)
    const first = targets(taggedRows, process.pid, runs)
    if (isEmpty(first)) return []
    signal(first, "SIGTERM")
    if (!(yield* areGone(runs, first, grace))) {
      // The tags are read again: a pid may have been reused, and there may be new processes.
      const { groups, singles } = targets(yield* list(runs), process.pid, runs)
      const left = first.groups.filter((group) => ProcessGroups.isRunning(group))
      signal({ groups: [...new Set([...left, ...groups])], singles }, "SIGKILL")
      if (!(yield* areGone(runs, first, killGrace))) return yield* Effect.fail("some cannot be ended" as const)
    }
    return taggedOf(taggedRows, process.pid, runs).map(({ run }) => run)
  })

type Tagged = Row & { readonly run: string }

/**
 * The supervisors that must not be ended. A process with a guard is a supervisor. One that was started from within a server is
 * spared, unless it is the server itself: then it is in the group that was started for it. The guard script has the same rule.
 */
const sparedIn = (rows: ReadonlyArray<Row>, runs: RunGroups): ReadonlySet<number> => {
  const supervisors = new Set(rows.flatMap(({ guards }) => guards ?? []))
  return new Set(rows.filter((row) => supervisors.has(row.pid) && !isOfServer(row, runs)).map(({ pid }) => pid))
}

const isOfServer = ({ group, run }: Row, runs: RunGroups): boolean =>
  run !== undefined && runs.get(run)?.has(group) === true

/** The processes that carry a tag, without this process and those that are spared. */
const taggedOf = (rows: ReadonlyArray<Row>, self: number, runs: RunGroups): ReadonlyArray<Tagged> => {
  const spared = sparedIn(rows, runs)
  return rows.filter((row): row is Tagged => {
    const { pid, run } = row
    return run !== undefined && pid !== self && pid > 1 && !spared.has(pid)
  })
}

/**
 * The targets among these processes. A group is signalled as a whole if a supervisor started it or if its leader carries the
 * tag: then all of it descends from there. This process, its group, and the group of a spared supervisor are never among the
 * targets.
 */
export const targets = (rows: ReadonlyArray<Row>, self: number, runs: RunGroups): Targets => {
  const spared = sparedIn(rows, runs)
  const sparedGroups = new Set(rows.filter(({ pid }) => pid === self || spared.has(pid)).map(({ group }) => group))
  const isOwnKnown = rows.some(({ pid }) => pid === self)
  const tagged = taggedOf(rows, self, runs)
  const isWhole = (row: Row) => (row.pid === row.group || isOfServer(row, runs)) && !sparedGroups.has(row.group)
  // If the group of this process is unknown, it could be hit.
  const groups = new Set(isOwnKnown ? tagged.filter(isWhole).map(({ group }) => group) : [])
  return {
    groups: [...groups],
    singles: tagged.filter(({ group }) => !groups.has(group)).map(({ pid }) => pid)
  }
}

/** The processes of one server that have left its group for a session of their own. */
export const straysOf = (rows: ReadonlyArray<Row>, tag: Tag, group: number, self: number): ReadonlyArray<number> =>
  taggedOf(rows, self, new Map([[tag.run, new Set([group])]]))
    .filter((row) => row.run === tag.run && row.child === tag.child && row.group !== group)
    .map(({ pid }) => pid)

/**
 * Signals a process if it still carries the tag: its pid may have been reused. Throws if the environment cannot be read for
 * lack of resources.
 */
export const signalStray = (pid: number, { child, run }: Tag, name: "SIGTERM" | "SIGKILL"): void => {
  if (process.platform === "linux") {
    const entries = environOf(pid)
    if (!entries.includes(`${variables.run}=${run}`) || !entries.includes(`${variables.child}=${child}`)) return
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
      // The process has just ended.
    }
  }
}

const areGone = (runs: RunGroups, { groups }: Targets, budget: Duration.DurationInput) =>
  Effect.map(
    list(runs),
    (rows) => isEmpty(targets(rows, process.pid, runs)) && !groups.some((group) => ProcessGroups.isRunning(group))
  ).pipe(
    // A failed listing proves nothing: it is repeated.
    Effect.orElseSucceed(() => false),
    Effect.repeat({ until: (gone) => gone, schedule: looks }),
    Effect.as(true),
    Effect.timeoutTo({ duration: budget, onSuccess: (gone) => gone, onTimeout: () => false })
  )
