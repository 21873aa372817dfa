/**
 * A configuration that is followed while its files change. What runs is always one that was good as a whole.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Desired } from "../domain/Desired.js"
import type { InvalidConfig } from "../domain/Errors.js"
import type { Issue } from "../domain/Issue.js"
import * as DirectoryWatch from "./DirectoryWatch.js"
import type { Surroundings } from "./Host.js"
import { isForeign, load, type Program, rejection, type Snapshot } from "./load.js"
import * as Organisation from "./Organisation.js"

/** Changes come in groups: a file is emptied, written, renamed. After this long without another, it is looked at. */
const quiet = 60

/** But no later than this after the first. */
const patience = 1000

/** A file that is gone may be about to be written anew. */
const vanishedFor = 250

/** How often is looked where nothing can be watched. */
const pollEvery = "2 seconds"

/** How often an organisation's document is asked for. */
const refreshEvery = "1 hour"

export interface Following {
  readonly first: Snapshot
  /** What came of files that were no use from the start, and were left out. */
  readonly problems: ReadonlyArray<InvalidConfig>
  /** Each change from now on. `rejected` where the files are no use, and what was before goes on. */
  readonly changes: Stream.Stream<Desired>
  /** Reads everything again, now. */
  readonly reload: Effect.Effect<Desired>
}

export interface FollowOptions {
  readonly surroundings: Surroundings
  readonly program: Program
  readonly watch: boolean
}

/** Fails if there is nothing good to begin with. */
export const follow = ({
  program,
  surroundings,
  watch
}: FollowOptions): Effect.Effect<Following, InvalidConfig, Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* load(surroundings, program)
    const fatal = Array.from(first.broken).filter(([name]) => !isForeign(first, name))
    if (fatal.length > 0) return yield* rejection(fatal.map(([, issues]) => issues))
    if (first.desired.rejected !== undefined) return yield* first.desired.rejected

    const one = yield* Effect.makeSemaphore(1)
    let good = first
    let seen = first.seen

    const judge = (next: Snapshot): Desired => {
      const issues = [...newlyBroken(good, next), ...emptied(good, next)]
      if (issues.length > 0) return { rejected: rejection([issues]) }
      if (next.desired.rejected === undefined) good = next
      return next.desired
    }

    const take = Effect.gen(function* () {
      const next = yield* load(surroundings, program)
      seen = next.seen
      return next
    })
    const reload = one.withPermits(1)(Effect.map(take, judge))
    const problems = first.broken.size === 0 ? [] : [rejection(first.broken.values())]
    if (!watch) return { first, problems, changes: Stream.empty, reload }

    const signals = yield* Queue.dropping<void>(1)
    const directories = yield* DirectoryWatch.make(() => void signals.unsafeOffer(undefined))
    const lookOutFor = ({ watched }: Snapshot) =>
      Effect.flatMap(directories.update(watched), (isNew) => (isNew ? signals.offer(undefined) : Effect.void))

    yield* lookOutFor(first)
    if (Option.isSome(Organisation.addressOf(surroundings))) {
      yield* Effect.forkScoped(Effect.repeat(Organisation.refresh(surroundings), Schedule.spaced(refreshEvery)))
    }

    /** The next state of the files that is another, once they have come to rest. */
    const next: Effect.Effect<Desired> = Effect.gen(function* () {
      while (true) {
        yield* signals.take.pipe(directories.isDeaf() ? Effect.timeoutOption(pollEvery) : Effect.asSome)
        yield* rest(signals)
        const desired = yield* one.withPermits(1)(
          Effect.gen(function* () {
            const before = seen
            let now = yield* take
            yield* lookOutFor(now)
            if (vanished(before, now.seen)) {
              yield* Effect.sleep(vanishedFor)
              now = yield* take
            }
            return same(before, now.seen) ? undefined : judge(now)
          })
        )
        if (desired !== undefined) return desired
      }
    })
    return { first, problems, changes: Stream.repeatEffect(next), reload }
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

const vanished = (before: Seen, after: Seen): boolean =>
  Array.from(before).some(([path, said]) => said !== "" && after.get(path) === "")

/** A file that came with a project and never was any good is not to blame for what comes later. */
const newlyBroken = (good: Snapshot, next: Snapshot): ReadonlyArray<Issue> =>
  Array.from(next.broken)
    .filter(([name]) => !(isForeign(next, name) && good.broken.has(name)))
    .flatMap(([, issues]) => issues)

/** A file that had something to say and is empty now is most likely being written. */
const emptied = (good: Snapshot, next: Snapshot): ReadonlyArray<Issue> =>
  next.reads
    .filter(({ layer }) => layer.text !== undefined && layer.text.text.trim() === "" && !next.broken.has(layer.name))
    .filter(({ layer }) =>
      good.reads.some((read) => read.layer.name === layer.name && read.layer.text?.text.trim() !== "")
    )
    .map(({ layer }) => ({ path: [], expected: "a document", found: "an empty file", file: layer.name }))
