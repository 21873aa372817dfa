/**
 * A look at all processes of the system, and at what their environments say of runs and guards.
 */
import { readdirSync, readFileSync } from "node:fs"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Shortage from "../../domain/internal/shortage.js"
import { ask, parseStat, procIsOurs } from "../../system/processIdentity.js"
import { codeOf } from "../../system/wholeFile.js"
import { childVariable, guardVariable, runVariable } from "../stdio/StdioCommand.js"

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

/** The tags that are looked for. */
export type Runs = Pick<ReadonlySet<string>, "has">

/** Nothing is known about any process. */
export class CannotLook extends Data.TaggedError("CannotLook")<{
  /** Whether only something is lacking now, such as a file descriptor. Otherwise environments cannot be seen here at all. */
  readonly isPassing: boolean
}> {}

/** All processes, with what their environment says of these runs. */
export const list = (runs: Runs): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
  process.platform === "darwin" ? listWithPs(runs) : Effect.try({ try: () => listProc(runs, false), catch: cannotLook })

/**
 * All processes, without the environments of those that are older than our own: everything that we started is younger. That
 * takes half the time of {@link list}.
 */
export const listYounger = (runs: Runs): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
  process.platform === "darwin" ? listWithPs(runs) : Effect.try({ try: () => listProc(runs, true), catch: cannotLook })

/** The entries of a process's environment. Throws if that cannot be known now. */
export const environOf = (pid: number): ReadonlyArray<string> => readOf(`/proc/${pid}/environ`)?.split("\0") ?? []

const cannotLook = (error: unknown): CannotLook => {
  if (error instanceof CannotLook) return error
  return new CannotLook({ isPassing: isShortage(error) })
}

const isShortage = (error: unknown): boolean => Shortage.isShortage(codeOf(error))

/**
 * Undefined if the process has ended or is another user's. A shortage says nothing about the process, so it is thrown.
 */
const readOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch (error) {
    if (isShortage(error)) throw error
    return undefined
  }
}

/** All at once and without waiting, so that what is seen is still true when it is acted upon. */
const listProc = (runs: Runs, onlyYounger: boolean): ReadonlyArray<Row> => {
  if (!procIsOurs()) throw new CannotLook({ isPassing: false })
  const since = onlyYounger ? Number(statOf("self")?.startedAt ?? 0) : 0
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = statOf(name)
    if (stat?.runs !== true) return []
    const pid = Number(name)
    const entries = Number(stat.startedAt) < since ? [] : environOf(pid)
    return [{ pid, group: stat.group, ...marksIn(runs, entries) }]
  })
}

const statOf = (name: string) => {
  const text = readOf(`/proc/${name}/stat`)
  return text === undefined ? undefined : parseStat(text)
}

const marksIn = (runs: Runs, entries: ReadonlyArray<string>): Omit<Row, "pid" | "group"> => {
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

const listWithPs = (runs: Runs) =>
  Effect.zipWith(
    ask("/bin/ps", "-axww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    ask("/bin/ps", "-axEww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    (plain, withEnvironment) => parsePs(runs, plain, withEnvironment)
  ).pipe(
    // a ps that took too long, or that could not be started, may work later; one that is not there does not
    Effect.mapError(({ error }) => new CannotLook({ isPassing: !never.has(codeOf(error)) }))
  )

const never: ReadonlySet<string> = new Set(["ENOENT", "EACCES", "EPERM"])

/**
 * Two lists of the same processes, the second with the environment behind the command line. What stands on a command line
 * is no tag.
 */
export const parsePs = (runs: Runs, plain: string, withEnvironment: string): ReadonlyArray<Row> => {
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
