/**
 * A configuration that is followed while its files change. What runs is always one that was good as a whole.
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

/** Changes come in groups: a file is emptied, written, renamed. After this long without another, it is looked at. */
const quiet = 60

/** But no later than this after the first. */
const patience = 1000

/** A file that is gone or empty may be about to be written anew. */
const vanishedFor = 250

/** How often it is read again while its directory keeps changing. */
const maxReadsAgain = 8

/** How often is looked where nothing can be watched. */
const pollEvery = "2 seconds"

export interface Following {
  readonly first: Snapshot
  /** What came of files that were no use from the start, and were left out. */
  readonly problems: ReadonlyArray<InvalidConfig>
  /**
   * Waits for the next change and has it applied: `rejected` where the files are no use, and what was before goes on. Where
   * only files of others are, they are told of, and what they said before goes on beside the rest. What is applied comes in
   * the order in which it was read.
   */
  readonly next: (apply: Apply) => Effect.Effect<void>
  /** Reads everything again, now, and has it applied if it is another. */
  readonly reload: (apply: Apply) => Effect.Effect<void>
  /** The same for somebody who waits for an answer: also if it is no other, and with what was said to be wrong before. */
  readonly reapply: (apply: Apply) => Effect.Effect<void>
}

export type Apply = (desired: Desired) => Effect.Effect<void>

export interface FollowOptions {
  readonly surroundings: Surroundings
  readonly program: Program
  readonly watch: boolean
  /** How directories are watched. Defaults to the system's way. */
  readonly watchDirectory?: Parameters<typeof DirectoryWatch.make>[1]
}

/** Fails if there is nothing good to begin with. */
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
    let told = brokenOf(first, isForeign)
    let remembered = remember(new Map(), first)

    /** What is to be applied, one after the other. */
    const judge = (next: Snapshot): ReadonlyArray<Desired> => {
      remembered = remember(remembered, next)
      const own = brokenOf(next, isOwn)
      if (own.size > 0) return [{ rejected: rejection(own.values()) }]
      const foreign = brokenOf(next, isForeign)
      const news = Array.from(foreign).filter(([name, issues]) => !isDeepStrictEqual(told.get(name), issues))
      told = foreign
      const reports = news.length === 0 ? [] : [{ rejected: rejection(news.map(([, issues]) => issues)) }]
      const isReportAll = reports.length > 0 && same(without(seen, foreign), without(next.seen, foreign))
      return isReportAll ? reports : [...reports, next.desired]
    }

    // what others have broken is as it was before
    const read = Effect.suspend(() => load(surroundings, program, remembered))

    /** Whether it is another. What was seen was also applied. */
    const accept = (next: Snapshot, apply: Apply): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        if (same(seen, next.seen)) return Effect.succeed(false)
        return Effect.as(adopt(next, apply), true)
      }).pipe(Effect.uninterruptible)

    /**
     * Reads again as long as a file is gone or empty and its directory keeps changing: every write in place passes through
     * the empty file, and one that is written again and again can be met there more than once.
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
            told = new Map()
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
        // the signal stays: whatever is read here, the outer loop looks once more
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

/** Waits until nothing more comes, within bounds. */
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

/** Whether something that said a word says nothing now. */
const vanished = (before: Seen, after: Seen): boolean =>
  Array.from(before).some(([path, said]) => !isNothing(said) && isNothing(after.get(path) ?? said))

const isNothing = (said: string): boolean => said.replace(/^=/, "").trim() === ""

const without = (all: Seen, left: ReadonlyMap<string, unknown>): Seen =>
  new Map(Array.from(all).filter(([path]) => !left.has(path)))

const isOwn = (snapshot: Snapshot, name: string): boolean => !isForeign(snapshot, name)

/** The files that are no use, and whose they are. */
const brokenOf = (
  snapshot: Snapshot,
  whose: (snapshot: Snapshot, name: string) => boolean
): ReadonlyMap<string, ReadonlyArray<Issue>> =>
  new Map(Array.from(snapshot.broken).filter(([name]) => whose(snapshot, name)))
