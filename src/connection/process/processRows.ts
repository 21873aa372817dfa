/**
 * Lists all processes of the system, with the run tags and guard marks in their environments.
 */
import { readdirSync, readFileSync } from "node:fs"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Shortage from "../../domain/internal/shortage.js"
import { variables } from "../../system/environment.js"
import { ask, parseStat, procIsOurs } from "../../system/processIdentity.js"
import { codeOf } from "../../system/files/wholeFile.js"

/** A process, with the marks in its environment. */
export interface Row {
  readonly pid: number
  readonly group: number
  /** The run it belongs to, if it is one of those requested. */
  readonly run: string | undefined
  /** The number of the server in that run. */
  readonly child: string | undefined
  /** The pid of the supervisor that this process guards. */
  readonly guards: number | undefined
}

/** The tags to search for. */
export type RunTags = Pick<ReadonlySet<string>, "has">

/** The processes cannot be listed. */
export class CannotLook extends Data.TaggedError("CannotLook")<{
  /** Whether the cause is temporary, such as a lack of file descriptors. Otherwise this system does not show environments. */
  readonly isPassing: boolean
}> {}

/** Lists all processes, with their marks for these runs. */
export const list = (runs: RunTags): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
  process.platform === "darwin" ? listWithPs(runs) : Effect.try({ try: () => listProc(runs, false), catch: cannotLook })

/**
 * Lists all processes, but reads only the environments of those younger than this process: everything it started is younger.
 * Takes half the time of {@link list}.
 */
export const listYounger = (runs: RunTags): Effect.Effect<ReadonlyArray<Row>, CannotLook> =>
  process.platform === "darwin" ? listWithPs(runs) : Effect.try({ try: () => listProc(runs, true), catch: cannotLook })

/** The entries of a process's environment. Throws if it cannot be read for lack of resources. */
export const environOf = (pid: number): ReadonlyArray<string> => readOf(`/proc/${pid}/environ`)?.split("\0") ?? []

const cannotLook = (error: unknown): CannotLook => {
  if (error instanceof CannotLook) return error
  return new CannotLook({ isPassing: isShortage(error) })
}

const isShortage = (error: unknown): boolean => Shortage.isShortage(codeOf(error))

/**
 * The content of a file in /proc. Undefined if the process has ended or belongs to another user. A lack of resources says
 * nothing about the process, so it is thrown.
 */
const readOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch (error) {
    if (isShortage(error)) throw error
    return undefined
  }
}

/** Synchronous, so that the result is still true when it is used. */
const listProc = (runs: RunTags, onlyYounger: boolean): ReadonlyArray<Row> => {
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

const marksIn = (runs: RunTags, entries: ReadonlyArray<string>): Omit<Row, "pid" | "group"> => {
  const valuesOf = (name: string) =>
    entries.flatMap((entry) => (entry.startsWith(`${name}=`) ? [entry.slice(name.length + 1)] : []))
  const run = valuesOf(variables.run).find((each) => runs.has(each))
  const guarded = Number(valuesOf(variables.guard)[0])
  return {
    run,
    child: run === undefined ? undefined : valuesOf(variables.child)[0],
    guards: Number.isInteger(guarded) ? guarded : undefined
  }
}

const listWithPs = (runs: RunTags) =>
  Effect.zipWith(
    ask("/bin/ps", "-axww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    ask("/bin/ps", "-axEww", "-o", "pid=", "-o", "pgid=", "-o", "command="),
    (plain, withEnvironment) => parsePs(runs, plain, withEnvironment)
  ).pipe(
    // A `ps` that timed out or could not be started may work later; a missing one does not.
    Effect.mapError(({ error }) => new CannotLook({ isPassing: !permanentCodes.has(codeOf(error)) }))
  )

const permanentCodes: ReadonlySet<string> = new Set(["ENOENT", "EACCES", "EPERM"])

/**
 * Combines two listings of the same processes, of which the second has the environment after the command line. A tag on the
 * command line does not count.
 */
export const parsePs = (runs: RunTags, plain: string, withEnvironment: string): ReadonlyArray<Row> => {
  const commands = new Map(psLines(plain).map(({ command, pid }) => [pid, command]))
  return psLines(withEnvironment).map(({ command, group, pid }) => {
    const plainCommand = commands.get(pid)
    const environment =
      plainCommand !== undefined && command.startsWith(plainCommand) ? command.slice(plainCommand.length) : ""
    return { pid, group, ...marksIn(runs, environment.split(/\s+/)) }
  })
}

const psLines = (text: string) =>
  text.split("\n").flatMap((line) => {
    const [, pid, group, command] = /^\s*(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? []
    return command === undefined ? [] : [{ pid: Number(pid), group: Number(group), command: command.trim() }]
  })
