/**
 * What is done for a connection that nobody uses: looks whether the server is still there, fetches lists that have become
 * old, and puts a lazy server to rest.
 */
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import * as Random from "effect/Random"
import { smallest } from "../../domain/internal/extremes.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import * as Link from "./Link.js"

export interface LinkUpkeep {
  readonly link: Link.Link
  readonly config: ServerConfig
  readonly clock: Clock.Clock
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
  /** Told when a lazy server has had nothing to do for as long as its config allows. */
  readonly onIdle: () => void
}

export const startUpkeep = (care: LinkUpkeep): Effect.Effect<never> =>
  Effect.all([watchHealth(care), renewLists(care), watchIdleness(care)], {
    concurrency: "unbounded",
    discard: true
  }).pipe(Effect.zipRight(Effect.never))

// --- health ---------------------------------------------------------------------------------------------------------

/** A wall clock that runs ahead of the monotonic one by more than this has slept. */
const sleepTolerance = 2000

/** After a sleep, servers are not all asked at the same moment. */
const wakeSpread = 2000

const watchHealth = (care: LinkUpkeep): Effect.Effect<void> => {
  const { config, link } = care
  if (config.health === false) return Effect.void
  const { interval } = config.health
  return Effect.gen(function* () {
    // who was not heard for long is asked at once, but not without a pause again and again
    let shortest = 0
    while (!link.isCondemned) {
      const { heardAt } = link
      const awayBefore = awayFor(care)
      const share = 0.75 + 0.25 * (yield* Random.next)
      // a request under way has clocks of its own, and a server that is busy with it may not answer anything else
      const rest = link.calls > 0 ? interval : heardAt + interval * share - link.now()
      yield* Effect.sleep(Math.max(rest, shortest))
      shortest = interval / 10
      const hasSlept = awayFor(care) - awayBefore > sleepTolerance
      if (hasSlept) yield* Effect.sleep(wakeSpread * (yield* Random.next))
      if (link.calls === 0 && (hasSlept || link.heardAt === heardAt)) yield* probe(care)
    }
  })
}

/** How far the wall clock is ahead of the one that stands still while the machine sleeps. */
const awayFor = ({ clock, link }: LinkUpkeep): number => clock.unsafeCurrentTimeMillis() - link.now()

/** How long we wait for a sign of life of a server that is not asked for one otherwise. */
const probeTimeout = 5000

/**
 * Asks for a sign of life; several who ask at once get the same answer. A connection that gives none is condemned, unless the
 * machine slept meanwhile.
 */
export const probe = (care: LinkUpkeep): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { link } = care
    if (link.probing !== undefined) return Deferred.await(link.probing)
    const answered = Deferred.unsafeMake<void>(FiberId.none)
    link.probing = answered
    const done = Effect.suspend(() => {
      link.probing = undefined
      return Deferred.succeed(answered, undefined)
    })
    // whoever asked first may not wait for the answer
    const asking = Effect.ensuring(Link.guarded(link, ask(care)), done)
    return Effect.zipRight(Link.work(link, asking), Deferred.await(answered))
  })

const ask = (care: LinkUpkeep): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { config, link } = care
    const awayBefore = awayFor(care)
    return Effect.flatMap(
      Effect.either(link.session.probe(config.health === false ? probeTimeout : config.health.timeout)),
      Either.match({
        onRight: () =>
          Effect.sync(() => {
            link.heardAt = link.now()
          }),
        onLeft: (reason) =>
          awayFor(care) - awayBefore > sleepTolerance ? ask(care) : Effect.sync(() => Link.condemn(link, reason))
      })
    )
  })

// --- lists ----------------------------------------------------------------------------------------------------------

/** No list is fetched again sooner than this because of its age. */
const shortestTtl = 1000

const renewLists = ({ config, link, refresh }: LinkUpkeep): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const [kind, { isStale }] of link.lists) if (isStale) yield* refresh(kind)
    while (true) {
      const due = [...link.lists].map(([kind, list]) => [kind, dueAt(list, config)] as const)
      const rest = smallest(due.map(([, at]) => at)) - link.now()
      if (rest <= 0 && link.fetching === 0) {
        for (const [kind, at] of due) if (at <= link.now()) yield* refresh(kind)
      }
      // whether that has made it young again is seen at the next look; and what is new may be older sooner
      if (rest > 0) yield* Effect.raceFirst(Effect.sleep(rest), Deferred.await(link.learned))
      else yield* Effect.sleep(shortestTtl)
    }
  })

const dueAt = ({ fetchedAt, ttl }: Link.ListState, { catalogTtl }: ServerConfig): number =>
  // 0 says that it may change at any time: then it is as good as unsaid
  fetchedAt + (ttl === undefined || ttl <= 0 ? catalogTtl : Math.max(ttl, shortestTtl))

// --- rest -----------------------------------------------------------------------------------------------------------

const watchIdleness = ({ config, link, onIdle }: LinkUpkeep): Effect.Effect<void> => {
  const { idleStop } = config
  if (!config.lazy || idleStop === undefined) return Effect.void
  return Effect.gen(function* () {
    while (true) {
      const rest = link.usedAt + idleStop - link.now()
      // said again as long as it is true: it may have come at a moment when something else was being done
      if (rest <= 0 && !Link.isBusy(link)) onIdle()
      yield* Effect.sleep(rest > 0 ? rest : idleStop)
    }
  })
}
