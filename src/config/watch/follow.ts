/**
 * Follows the config files while they change. An invalid file never replaces a valid configuration.
 */
import { isDeepStrictEqual } from "node:util"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { Desired } from "../../domain/server/Desired.js"
import type { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import * as DirectoryWatch from "./DirectoryWatch.js"
import type { Surroundings } from "../ConfigHost.js"
import { isForeign, load, type Program, rejection, remember, type Snapshot } from "../layers/loadLayers.js"
import * as Organisation from "../layers/Organisation.js"

/** An editor changes a file in several steps: the files are read when there was no change for this long. */
const quiet = 60

/** Continuous changes delay reading for at most this long. */
const patience = 1000

/** How long a missing or empty file may take to be written again. */
const vanishedFor = 250

/** How many times a missing or empty file is read again while its directory keeps changing. */
const maxReadsAgain = 8

/** How often files are read that cannot be watched. */
const pollEvery = "2 seconds"

export interface Following {
  readonly first: Snapshot
  /** Errors of shared files that were invalid from the start. These files were ignored. */
  readonly problems: ReadonlyArray<InvalidConfig>
  /**
   * Waits for the next change of the files and applies it. If a file of the user is invalid, the update has the error in
   * `rejected`, and the configuration stays. If only shared files are invalid, their errors are reported and their last valid
   * content stays in use. Updates are applied in the order in which the files were read.
   */
  readonly next: (apply: Apply) => Effect.Effect<void>
  /** Reads all files and applies the result if a file changed. */
  readonly reload: (apply: Apply) => Effect.Effect<void>
  /** Reads all files and applies the result even if no file changed. Reports known errors again. */
  readonly reapply: (apply: Apply) => Effect.Effect<void>
}

export type Apply = (desired: Desired) => Effect.Effect<void>

export interface FollowOptions {
  readonly surroundings: Surroundings
  readonly program: Program
  readonly watch: boolean
  /** Defaults to `fs.watch`. */
  readonly watchDirectory?: Parameters<typeof DirectoryWatch.make>[1]
}

/** Reads the config files and follows them until the scope is closed. Fails if they are invalid now. */
export const follow = ({
  program,
  surroundings,
  watch,
  watchDirectory
}: FollowOptions): Effect.Effect<Following, InvalidConfig, Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* load(surroundings, program)
    const fatal = brokenOf(first, isOwn)
    if (fatal.size > 0) return yield* rejection(fatal.values())
    if (first.desired.rejected !== undefined) return yield* first.desired.rejected

    const one = yield* Effect.makeSemaphore(1)
    let seen = first.seen
    let reported = brokenOf(first, isForeign)
    let remembered = remember(new Map(), first)

    /** The updates that a reading causes, in order. */
    const judge = (next: Snapshot): ReadonlyArray<Desired> => {
      remembered = remember(remembered, next)
      const own = brokenOf(next, isOwn)
      if (own.size > 0) return [{ rejected: rejection(own.values()) }]
      const foreign = brokenOf(next, isForeign)
      const unreported = Array.from(foreign).filter(([name, issues]) => !isDeepStrictEqual(reported.get(name), issues))
      reported = foreign
      const reports = unreported.length === 0 ? [] : [{ rejected: rejection(unreported.map(([, issues]) => issues)) }]
      const isReportAll = reports.length > 0 && same(without(seen, foreign), without(next.seen, foreign))
      return isReportAll ? reports : [...reports, next.desired]
    }

    // the last valid content stands in for invalid shared files
    const read = Effect.suspend(() => load(surroundings, program, remembered))

    /** Applies a reading if a file changed, and returns whether. An interrupt would lose an update that counts as applied. */
    const accept = (next: Snapshot, apply: Apply): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        if (same(seen, next.seen)) return Effect.succeed(false)
        return Effect.as(adopt(next, apply), true)
      }).pipe(Effect.uninterruptible)

    /**
     * Reads again while a file is missing or empty and its directory keeps changing. A write in place empties the file first,
     * and a file that is rewritten repeatedly can be read empty more than once.
     */
    const settled = (now: Snapshot, hasChangedAgain = Effect.succeed(false)): Effect.Effect<Snapshot> =>
      Effect.gen(function* () {
        let next = now
        for (let reads = 0; reads < maxReadsAgain && vanished(seen, next.seen); reads++) {
          next = yield* Effect.delay(read, vanishedFor)
          if (!(yield* hasChangedAgain)) break
        }
        return next
      })

    const adopt = (next: Snapshot, apply: Apply): Effect.Effect<void> => {
      const changes = judge(next)
      seen = next.seen
      return Effect.forEach(changes, apply, { discard: true })
    }

    const reload = (apply: Apply) =>
      one.withPermits(1)(
        read.pipe(
          Effect.flatMap((now) => settled(now)),
          Effect.flatMap((next) => accept(next, apply)),
          Effect.asVoid
        )
      )

    const reapply = (apply: Apply) =>
      one.withPermits(1)(
        Effect.flatMap(
          Effect.flatMap(read, (now) => settled(now)),
          (next) => {
            reported = new Map()
            return Effect.uninterruptible(adopt(next, apply))
          }
        )
      )

    if (Option.isSome(Organisation.addressOf(surroundings))) {
      yield* Effect.forkScoped(watch ? Organisation.keepFresh(surroundings) : Organisation.refresh(surroundings))
    }
    const problems = first.broken.size === 0 ? [] : [rejection(first.broken.values())]
    if (!watch) return { first, problems, next: () => Effect.never, reload, reapply }

    const signals = yield* Queue.dropping<void>(1)
    const directories = yield* DirectoryWatch.make(() => void signals.unsafeOffer(undefined), watchDirectory)
    const lookOutFor = ({ watched }: Snapshot) =>
      Effect.flatMap(directories.update(watched), (isNew) => (isNew ? signals.offer(undefined) : Effect.void))

    yield* lookOutFor(first)

    const look = (apply: Apply) =>
      Effect.gen(function* () {
        const now = yield* read
        yield* lookOutFor(now)
        // the signal stays in the queue, so the outer loop reads once more
        const hasChangedAgain = Effect.map(signals.size, (waiting) => waiting > 0)
        return yield* accept(yield* settled(now, hasChangedAgain), apply)
      })

    const next = (apply: Apply): Effect.Effect<void> =>
      Effect.gen(function* () {
        let isOver = false
        while (!isOver) {
          yield* signals.take.pipe(directories.isDeaf() ? Effect.timeoutOption(pollEvery) : Effect.asSome)
          yield* rest(signals)
          isOver = yield* one.withPermits(1)(look(apply))
        }
      })
    return { first, problems, next, reload, reapply }
  })

/** Returns when no signal arrived for `quiet`, or after `patience`. */
const rest = (signals: Queue.Queue<void>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const until = (yield* Clock.currentTimeMillis) + patience
    do {
      yield* signals.takeAll
      yield* Effect.sleep(quiet)
    } while ((yield* signals.size) > 0 && (yield* Clock.currentTimeMillis) < until)
  })

type Seen = Snapshot["seen"]

const same = (before: Seen, after: Seen): boolean =>
  before.size === after.size && Array.from(before).every(([path, said]) => after.get(path) === said)

/** Whether a file that had text is now missing or empty. */
const vanished = (before: Seen, after: Seen): boolean =>
  Array.from(before).some(([path, said]) => !isNothing(said) && isNothing(after.get(path) ?? said))

const isNothing = (said: string): boolean => said.replace(/^=/, "").trim() === ""

const without = (all: Seen, left: ReadonlyMap<string, unknown>): Seen =>
  new Map(Array.from(all).filter(([path]) => !left.has(path)))

const isOwn = (snapshot: Snapshot, name: string): boolean => !isForeign(snapshot, name)

/** The issues of invalid files, by file, of the user or of shared files. */
const brokenOf = (
  snapshot: Snapshot,
  whose: (snapshot: Snapshot, name: string) => boolean
): ReadonlyMap<string, ReadonlyArray<Issue>> =>
  new Map(Array.from(snapshot.broken).filter(([name]) => whose(snapshot, name)))
