/**
 * A ledger in the state directory: one file for each run, `children/<owner>.json`. It is written before the first process is
 * started and removed at the end. One whose owner is dead tells what is left of a run that could not clean up.
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
import * as StateFile from "../../system/stateFile.js"
import * as TaggedProcesses from "./taggedProcesses.js"

const Entry = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  owner: ProcessIdentity.Identity,
  // nothing short of a random tag may decide about a process
  runs: Schema.Array(Schema.UUID),
  /** The process groups of these runs. Absent if there was none so far. */
  groups: Schema.optionalWith(Schema.Array(Schema.Int.pipe(Schema.greaterThan(1))), { exact: true })
})

type Entry = typeof Entry.Type

/** How long it may take to write or to remove our own file. */
const ownBudget = "1 second"

/** How long is waited until what others have left was looked at, and ended. */
const othersBudget = "2500 millis"

/** More than any number of groups takes. */
const maxBytes = 1024 * 1024

/** Groups that start or end together are written together. */
const writingPause = "200 millis"

/** Milliseconds after which nobody comes back to finish what he was writing. */
const abandonedAfter = 24 * 60 * 60 * 1000

const directoryIn = (stateDir: string): string => join(stateDir, "children")

/** Nothing is touched before something is recorded. */
export const layer = (stateDir: string): Layer.Layer<never> =>
  Layer.succeedContext(Context.make(ChildLedger, make(directoryIn(stateDir))))

/** Ends what dead owners have left there, for whoever starts nothing himself. */
export const clear = (stateDir: string): Effect.Effect<void> =>
  Effect.annotateLogs(sweep(directoryIn(stateDir)), "directory", directoryIn(stateDir))

const make = (directory: string): Service => ({
  record: (runTag) =>
    Effect.gen(function* () {
      const path = join(directory, `${process.pid}-${randomUUID()}.json`)
      const groups = new Set<number>()
      const changed = yield* Queue.sliding<void>(1)
      const owner = yield* ProcessIdentity.self
      const entry = (): Entry => ({ version: StateFile.version, owner, runs: [runTag], groups: [...groups] })
      yield* Effect.acquireRelease(enter(path, entry()), () =>
        Effect.suspend(() => (groups.size > 0 ? Effect.void : withinBudget(ownBudget)(StateFile.remove(path))))
      )
      const write = Effect.suspend(() => Effect.ignore(StateFile.write(path, JSON.stringify(entry()))))
      const writing = Effect.forever(Queue.take(changed).pipe(Effect.zipRight(write), Effect.delay(writingPause)))
      yield* Effect.forkScoped(Effect.interruptible(writing))
      // what takes longer goes on: whoever was asked to end has to be made to
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

/** Without a ledger everything works but the cleaning up after a crash. */
const enter = (path: string, entry: Entry): Effect.Effect<void> =>
  StateFile.write(path, JSON.stringify(entry)).pipe(
    withinBudget(ownBudget),
    Effect.flatMap(Option.match({ onNone: () => Effect.fail("ETIMEDOUT"), onSome: Effect.succeed })),
    Effect.catchAll((code) => Effect.logWarning("mcp.children.unrecorded").pipe(Effect.annotateLogs("code", code)))
  )

/** Looks at all files, and ends what dead owners have left. */
const sweep = (directory: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const here = yield* ProcessIdentity.self
    const names = yield* Effect.tryPromise(() => readdir(directory))
    const orphaned = yield* Effect.forEach(names, (name) => examine(join(directory, name), here), { concurrency: 8 })
    yield* reap(orphaned.flatMap(Option.toArray))
  }).pipe(
    // a directory that is not there has been reported when it could not be made
    Effect.catchAll((error) => Effect.logDebug("mcp.children.unswept", error))
  )

interface Orphaned {
  readonly path: string
  readonly entry: Entry
}

/** Gives the entry of an owner who is dead and may have left something. Removes what is of no use to anybody. */
const examine = (path: string, here: ProcessIdentity.Identity): Effect.Effect<Option.Option<Orphaned>> =>
  Effect.gen(function* () {
    const found = yield* StateFile.read(path, maxBytes)
    if (found._tag === "Absent" || found._tag === "Newer") return Option.none()
    if (found._tag !== "Found" || !isEntry(found.content)) {
      if (yield* isAbandoned(path)) yield* StateFile.remove(path)
      return Option.none()
    }
    const { owner, runs } = found.content
    if ((yield* ProcessIdentity.isAlive(owner)) !== "dead") return Option.none()
    if (owner.boot !== here.boot) {
      yield* StateFile.remove(path)
      return Option.none()
    }
    // of a run that we belong to ourselves, somebody else has to be the judge
    const own = InheritedRun.get()
    return own !== undefined && runs.includes(own) ? Option.none() : Option.some({ path, entry: found.content })
  })

const isEntry = Schema.is(Entry)

const isAbandoned = (path: string): Effect.Effect<boolean> =>
  Effect.zipWith(
    Effect.tryPromise(() => stat(path)),
    Clock.currentTimeMillis,
    ({ mtimeMs }, now) => now - mtimeMs > abandonedAfter
  ).pipe(Effect.orElseSucceed(() => false))

const reap = (orphaned: ReadonlyArray<Orphaned>): Effect.Effect<void> =>
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
