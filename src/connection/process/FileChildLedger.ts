/**
 * Stores the ledger in the state directory, one file per run (`children/<owner>.json`). It is written before the first process
 * starts and removed at shutdown. A file whose owner is dead lists the leftovers of a run that could not clean up.
 */
import { randomUUID } from "node:crypto"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { withinBudget } from "../../system/budget.js"
import { ChildLedger, type Groups, type Service } from "../ChildLedger.js"
import * as InheritedRun from "./inheritedRun.js"
import * as ProcessIdentity from "../../system/processIdentity.js"
import * as StateFile from "../../system/files/stateFile.js"
import * as TaggedProcesses from "./taggedProcesses.js"

const LedgerEntry = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  owner: ProcessIdentity.Identity,
  // Only a random tag may decide about a process.
  runs: Schema.Array(Schema.UUID),
  /** The process groups of these runs. Absent before the first one. */
  groups: Schema.optionalWith(Schema.Array(Schema.Int.pipe(Schema.greaterThan(1))), { exact: true })
})

type LedgerEntry = typeof LedgerEntry.Type

/** The time to write or remove the file of this run. */
const ownBudget = "1 second"

/** The maximum wait for the cleanup of leftovers of other owners. */
const othersBudget = "2500 millis"

/** The maximum file size; no number of groups reaches it. */
const maxBytes = 1024 * 1024

/** Groups that start or end within this time are written together. */
const writingPause = "200 millis"

/** The age in milliseconds at which an unreadable file is removed: its writer will not finish it. */
const abandonedAfter = 24 * 60 * 60 * 1000

const directoryIn = (stateDir: string): string => join(stateDir, "children")

/** Provides the ledger. No file is touched before a run is recorded. */
export const layer = (stateDir: string): Layer.Layer<never> =>
  Layer.succeedContext(Context.make(ChildLedger, make(directoryIn(stateDir))))

/** Ends what dead owners have left, for callers that start no processes themselves. */
export const clear = (stateDir: string): Effect.Effect<void> =>
  Effect.annotateLogs(sweep(directoryIn(stateDir)), "directory", directoryIn(stateDir))

const make = (directory: string): Service => ({
  record: (runTag) =>
    Effect.gen(function* () {
      const path = join(directory, `${process.pid}-${randomUUID()}.json`)
      const groups = new Set<number>()
      const changed = yield* Queue.sliding<void>(1)
      const owner = yield* ProcessIdentity.self
      const entry = (): LedgerEntry => ({ version: StateFile.version, owner, runs: [runTag], groups: [...groups] })
      yield* Effect.acquireRelease(writeEntry(path, entry()), () =>
        Effect.suspend(() => (groups.size > 0 ? Effect.void : withinBudget(ownBudget)(StateFile.remove(path))))
      )
      const write = Effect.suspend(() => Effect.ignore(StateFile.write(path, JSON.stringify(entry()))))
      const writing = Effect.forever(Queue.take(changed).pipe(Effect.zipRight(write), Effect.delay(writingPause)))
      yield* Effect.forkScoped(Effect.interruptible(writing))
      // A longer cleanup continues in the background: processes that received SIGTERM may still need SIGKILL.
      const sweeping = yield* Effect.forkScoped(Effect.interruptible(sweep(directory)))
      yield* Effect.timeoutOption(Fiber.await(sweeping), othersBudget)
      return {
        started: (group) => {
          groups.add(group)
          Queue.unsafeOffer(changed, undefined)
        },
        gone: (group) => {
          groups.delete(group)
          Queue.unsafeOffer(changed, undefined)
        }
      } satisfies Groups
    }).pipe(Effect.annotateLogs("directory", directory))
})

/** Writes the file. A failure is only logged: without a ledger, only the cleanup after a crash is missing. */
const writeEntry = (path: string, entry: LedgerEntry): Effect.Effect<void> =>
  StateFile.write(path, JSON.stringify(entry)).pipe(
    withinBudget(ownBudget),
    Effect.flatMap(Option.match({ onNone: () => Effect.fail("ETIMEDOUT"), onSome: Effect.succeed })),
    Effect.catchAll((code) => Effect.logWarning("mcp.children.unrecorded").pipe(Effect.annotateLogs("code", code)))
  )

/** Reads all files and ends what dead owners have left. */
const sweep = (directory: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const self = yield* ProcessIdentity.self
    const names = yield* Effect.tryPromise(() => readdir(directory))
    const orphaned = yield* Effect.forEach(names, (name) => findOrphan(join(directory, name), self), { concurrency: 8 })
    yield* reap(orphaned.flatMap(Option.toArray))
  }).pipe(
    // A missing directory was reported when it could not be created.
    Effect.catchAll((error) => Effect.logDebug("mcp.children.unswept", error))
  )

interface OrphanedEntry {
  readonly path: string
  readonly entry: LedgerEntry
}

/** Returns the entry of a dead owner that may have left processes. Removes obsolete files. */
const findOrphan = (path: string, self: ProcessIdentity.Identity): Effect.Effect<Option.Option<OrphanedEntry>> =>
  Effect.gen(function* () {
    const file = yield* StateFile.read(path, maxBytes)
    if (file._tag === "Absent" || file._tag === "Newer") return Option.none()
    if (file._tag !== "Found" || !isEntry(file.content)) {
      if (yield* isAbandoned(path)) yield* StateFile.remove(path)
      return Option.none()
    }
    const { owner, runs } = file.content
    if ((yield* ProcessIdentity.isAlive(owner)) !== "dead") return Option.none()
    if (owner.boot !== self.boot) {
      yield* StateFile.remove(path)
      return Option.none()
    }
    // This process carries the tag of that run: the cleanup is left to a process outside of it.
    const inheritedRun = InheritedRun.get()
    return inheritedRun !== undefined && runs.includes(inheritedRun)
      ? Option.none()
      : Option.some({ path, entry: file.content })
  })

const isEntry = Schema.is(LedgerEntry)

const isAbandoned = (path: string): Effect.Effect<boolean> =>
  Effect.zipWith(
    Effect.tryPromise(() => stat(path)),
    Clock.currentTimeMillis,
    ({ mtimeMs }, now) => now - mtimeMs > abandonedAfter
  ).pipe(Effect.orElseSucceed(() => false))

const reap = (orphaned: ReadonlyArray<OrphanedEntry>): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (orphaned.length === 0) return
    const ended = yield* TaggedProcesses.end(
      new Map(orphaned.flatMap(({ entry: { groups, runs } }) => runs.map((run) => [run, new Set(groups)])))
    )
    for (const { entry, path } of orphaned) {
      const count = ended.filter((run) => entry.runs.includes(run)).length
      const annotations = { count, owner: entry.owner.pid }
      if (count > 0) yield* Effect.logInfo("mcp.children.reaped").pipe(Effect.annotateLogs(annotations))
      yield* StateFile.remove(path)
    }
  }).pipe(
    Effect.catchAll(() =>
      Effect.logWarning("mcp.children.left").pipe(
        Effect.annotateLogs("owners", orphaned.map(({ entry }) => entry.owner.pid).join(", "))
      )
    )
  )
