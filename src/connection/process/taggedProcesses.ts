/**
 * The processes that carry the tag of a run in their environment, wherever they went: those we started, and what these
 * started. The tag is random, so nobody else carries it.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ProcessGroups from "./ProcessGroups.js"
import { type CannotLook, environOf, list, type Row } from "./processRows.js"
import { childVariable, runVariable, type Tag } from "../stdio/StdioCommand.js"

/** Tags, and of each run the process groups that its supervisor started. */
export type Runs = ReadonlyMap<string, ReadonlySet<number>>

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
export const end = (runs: Runs): Effect.Effect<ReadonlyArray<string>, CannotLook | "some cannot be ended"> =>
  Effect.gen(function* () {
    const found = yield* list(runs)
    const first = targets(found, process.pid, runs)
    if (isEmpty(first)) return []
    signal(first, "SIGTERM")
    if (!(yield* areGone(runs, first, grace))) {
      // by their tags once more: a number may be another's by now, and there may be new ones
      const { groups, singles } = targets(yield* list(runs), process.pid, runs)
      const left = first.groups.filter((group) => ProcessGroups.isRunning(group))
      signal({ groups: [...new Set([...left, ...groups])], singles }, "SIGKILL")
      if (!(yield* areGone(runs, first, killGrace))) return yield* Effect.fail("some cannot be ended" as const)
    }
    return taggedOf(found, process.pid, runs).map(({ run }) => run)
  })

type Tagged = Row & { readonly run: string }

/**
 * A process with a guard is a supervisor. One that was started from within a server is not ours to end, unless it is the server:
 * then it is in the group that was started for it. The guard script has the same rule.
 */
const sparedIn = (rows: ReadonlyArray<Row>, runs: Runs): ReadonlySet<number> => {
  const supervisors = new Set(rows.flatMap(({ guards }) => guards ?? []))
  return new Set(rows.filter((row) => supervisors.has(row.pid) && !isOfServer(row, runs)).map(({ pid }) => pid))
}

const isOfServer = ({ group, run }: Row, runs: Runs): boolean => run !== undefined && runs.get(run)?.has(group) === true

/** The processes that carry a tag, without our own and those that are spared. */
const taggedOf = (rows: ReadonlyArray<Row>, self: number, runs: Runs): ReadonlyArray<Tagged> => {
  const spared = sparedIn(rows, runs)
  return rows.filter((row): row is Tagged => {
    const { pid, run } = row
    return run !== undefined && pid !== self && pid > 1 && !spared.has(pid)
  })
}

/**
 * A group goes as a whole if a supervisor started it, or if its leader carries the tag: then all of it came from there. Our
 * own process is never among them, nor is our own group, nor the group of a supervisor that is spared.
 */
export const targets = (rows: ReadonlyArray<Row>, self: number, runs: Runs): Targets => {
  const spared = sparedIn(rows, runs)
  const sparedGroups = new Set(rows.filter(({ pid }) => pid === self || spared.has(pid)).map(({ group }) => group))
  const isOwnKnown = rows.some(({ pid }) => pid === self)
  const tagged = taggedOf(rows, self, runs)
  const isWhole = (row: Row) => (row.pid === row.group || isOfServer(row, runs)) && !sparedGroups.has(row.group)
  // without knowing our own group we could hit it
  const groups = new Set(isOwnKnown ? tagged.filter(isWhole).map(({ group }) => group) : [])
  return {
    groups: [...groups],
    singles: tagged.filter(({ group }) => !groups.has(group)).map(({ pid }) => pid)
  }
}

/** The processes of one server that have left its group, for a session of their own. */
export const straysOf = (rows: ReadonlyArray<Row>, tag: Tag, group: number, self: number): ReadonlyArray<number> =>
  taggedOf(rows, self, new Map([[tag.run, new Set([group])]]))
    .filter((row) => row.run === tag.run && row.child === tag.child && row.group !== group)
    .map(({ pid }) => pid)

/**
 * Signals a process if it still carries the tag: its number may belong to another one by now. Throws if that cannot be known now.
 */
export const signalStray = (pid: number, { child, run }: Tag, name: "SIGTERM" | "SIGKILL"): void => {
  if (process.platform === "linux") {
    const entries = environOf(pid)
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

const areGone = (runs: Runs, { groups }: Targets, budget: Duration.DurationInput) =>
  Effect.map(
    list(runs),
    (rows) => isEmpty(targets(rows, process.pid, runs)) && !groups.some((group) => ProcessGroups.isRunning(group))
  ).pipe(
    // a look that failed is no sign that they are gone: there is another one
    Effect.orElseSucceed(() => false),
    Effect.repeat({ until: (gone) => gone, schedule: looks }),
    Effect.as(true),
    Effect.timeoutTo({ duration: budget, onSuccess: (gone) => gone, onTimeout: () => false })
  )
