/**
 * Follows the config files while they change. An invalid file never replaces a valid configuration.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { ConfigUpdate, Desired } from "../../domain/server/Desired.js"
import type { InvalidConfig } from "../../domain/Errors.js"
import * as DirectoryWatch from "./DirectoryWatch.js"
import type { Surroundings } from "../ConfigHost.js"
import { invalidConfig, load, type ProgramConfig, requireValid, type Snapshot } from "../layers/loadLayers.js"
import * as Organisation from "../layers/Organisation.js"
import * as History from "./snapshotHistory.js"

/** An editor changes a file in several steps: the files are read when there was no change for this long. */
const quietPeriod = 60

/** Continuous changes delay reading for at most this long. */
const maxDelay = 1000

/** How long a missing or empty file may take to be written again. */
const rewriteDelay = 250

/** How many times a missing or empty file is read again while its directory keeps changing. */
const maxRewrites = 8

/** How often files are read that cannot be watched. */
const pollInterval = "2 seconds"

/** Applies one update. Updates are applied one at a time, in the order in which the files were read. */
export type Apply<A> = (update: ConfigUpdate) => Effect.Effect<A>

export interface ConfigWatch {
  /** The configuration when the watch was created. */
  readonly initial: Desired
  /** Errors of shared files that were invalid when the watch was created. These files were ignored. */
  readonly initialErrors: ReadonlyArray<InvalidConfig>
  /** Waits for the next change of the files and applies it. Without `watch`, never returns. */
  readonly applyNext: (apply: Apply<unknown>) => Effect.Effect<void>
  /** Reads all files and applies the result if a file changed. */
  readonly reload: (apply: Apply<unknown>) => Effect.Effect<void>
  /** Reads all files and applies the result even if no file changed. Reports known errors again. Returns all results. */
  readonly reapply: <A>(apply: Apply<A>) => Effect.Effect<ReadonlyArray<A>>
}

export interface Options {
  readonly surroundings: Surroundings
  readonly program: ProgramConfig
  readonly watch: boolean
  /** Defaults to `fs.watch`. */
  readonly watchDirectory?: Parameters<typeof DirectoryWatch.make>[1]
}

/** Reads the config files and watches them until the scope is closed. Fails if they are invalid now. */
export const make = Effect.fnUntraced(function* ({
  program,
  surroundings,
  watch,
  watchDirectory
}: Options): Effect.fn.Return<ConfigWatch, InvalidConfig, Scope.Scope> {
  const first = yield* load(surroundings, program)
  const initial = yield* requireValid(first)
  const initialErrors = first.issuesByFile.size === 0 ? [] : [invalidConfig(first.issuesByFile)]
  const lock = yield* Effect.makeSemaphore(1)
  let history = History.start(first)

  const read = Effect.suspend(() => load(surroundings, program, history.lastValid))

  /**
   * Reads again while a file is missing or empty and its directory keeps changing. A write in place empties the file first,
   * and a file that is rewritten repeatedly can be read empty more than once.
   */
  const awaitRewrite = Effect.fnUntraced(function* (
    snapshot: Snapshot,
    hasChangedAgain: Effect.Effect<boolean> = Effect.succeed(false)
  ) {
    let next = snapshot
    for (let reads = 0; reads < maxRewrites && History.lostText(history, next); reads++) {
      next = yield* Effect.delay(read, rewriteDelay)
      if (!(yield* hasChangedAgain)) break
    }
    return next
  })

  const applySnapshot = <A>(snapshot: Snapshot, apply: Apply<A>): Effect.Effect<ReadonlyArray<A>> =>
    Effect.suspend(() => {
      const next = History.advance(history, snapshot)
      history = next.history
      return Effect.forEach(next.updates, apply)
    }).pipe(
      // An interrupt would lose an update that the history counts as applied.
      Effect.uninterruptible
    )

  /** Returns whether a file changed. */
  const applyIfChanged = (snapshot: Snapshot, apply: Apply<unknown>): Effect.Effect<boolean> =>
    Effect.suspend(() =>
      History.isUnchanged(history, snapshot) ? Effect.succeed(false) : Effect.as(applySnapshot(snapshot, apply), true)
    )

  const reload: ConfigWatch["reload"] = (apply) =>
    read.pipe(
      Effect.flatMap((snapshot) => awaitRewrite(snapshot)),
      Effect.flatMap((snapshot) => applyIfChanged(snapshot, apply)),
      lock.withPermits(1),
      Effect.asVoid
    )

  const reapply: ConfigWatch["reapply"] = (apply) =>
    read.pipe(
      Effect.flatMap((snapshot) => awaitRewrite(snapshot)),
      Effect.flatMap((snapshot) => {
        history = History.forgetReported(history)
        return applySnapshot(snapshot, apply)
      }),
      lock.withPermits(1)
    )

  if (Option.isSome(Organisation.addressOf(surroundings))) {
    yield* Effect.forkScoped(watch ? Organisation.keepFresh(surroundings) : Organisation.refresh(surroundings))
  }
  if (!watch) return { initial, initialErrors, applyNext: () => Effect.never, reload, reapply }

  const signals = yield* Queue.dropping<void>(1)
  const directories = yield* DirectoryWatch.make(() => void signals.unsafeOffer(undefined), watchDirectory)

  /** A path that was not watched before may have changed already, so it counts as a change. */
  const watchPaths = Effect.fnUntraced(function* ({ texts }: Snapshot) {
    if (yield* directories.update([...texts.keys()])) yield* signals.offer(undefined)
  })

  const readAndApply = Effect.fnUntraced(
    function* (apply: Apply<unknown>) {
      const snapshot = yield* read
      yield* watchPaths(snapshot)
      // The signal stays in the queue, so `applyNext` reads once more.
      const hasChangedAgain = Effect.map(signals.size, (waiting) => waiting > 0)
      return yield* applyIfChanged(yield* awaitRewrite(snapshot, hasChangedAgain), apply)
    },
    (effect) => lock.withPermits(1)(effect)
  )

  const applyNext: ConfigWatch["applyNext"] = Effect.fnUntraced(function* (apply) {
    do {
      yield* signals.take.pipe(directories.needsPolling() ? Effect.timeoutOption(pollInterval) : Effect.asSome)
      yield* awaitQuiet(signals)
    } while (!(yield* readAndApply(apply)))
  })

  yield* watchPaths(first)
  return { initial, initialErrors, applyNext, reload, reapply }
})

/** Returns when no signal arrived for `quietPeriod`, or after `maxDelay`. */
const awaitQuiet = Effect.fnUntraced(function* (signals: Queue.Queue<void>) {
  const deadline = (yield* Clock.currentTimeMillis) + maxDelay
  do {
    yield* signals.takeAll
    yield* Effect.sleep(quietPeriod)
  } while ((yield* signals.size) > 0 && (yield* Clock.currentTimeMillis) < deadline)
})
