/**
 * Maintains an open link: health checks, fetching expired lists, and stopping a lazy server that is idle.
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
  /** Called when a lazy server has been idle for as long as its config allows. */
  readonly onIdle: () => void
}

export const startUpkeep = (upkeep: LinkUpkeep): Effect.Effect<never> =>
  Effect.all([watchHealth(upkeep), watchListAges(upkeep), watchIdle(upkeep)], {
    concurrency: "unbounded",
    discard: true
  }).pipe(Effect.zipRight(Effect.never))

// --- health ---------------------------------------------------------------------------------------------------------

/** If the wall clock gains more than this on the monotonic clock, the machine was asleep. */
const sleepTolerance = 2000

/** After a sleep, health checks are spread over this time instead of running all at once. */
const wakeSpread = 2000

const watchHealth = (upkeep: LinkUpkeep): Effect.Effect<void> => {
  const { config, link } = upkeep
  if (config.health === false) return Effect.void
  const { interval } = config.health
  return Effect.gen(function* () {
    // A link that was silent for a long time is checked at once, but later checks keep a minimum pause.
    let minPause = 0
    while (!link.isLost) {
      const { heardAt } = link
      const clockGapBefore = clockGap(upkeep)
      const jitter = 0.75 + 0.25 * (yield* Random.next)
      // A request in progress has its own timeouts, and a server that is busy with it may not respond to anything else.
      const pause = link.calls > 0 ? interval : heardAt + interval * jitter - link.now()
      yield* Effect.sleep(Math.max(pause, minPause))
      minPause = interval / 10
      const hasSlept = clockGap(upkeep) - clockGapBefore > sleepTolerance
      if (hasSlept) yield* Effect.sleep(wakeSpread * (yield* Random.next))
      if (link.calls === 0 && (hasSlept || link.heardAt === heardAt)) yield* probe(upkeep)
    }
  })
}

/** How far the wall clock is ahead of the monotonic clock, which stops while the machine sleeps. */
const clockGap = ({ clock, link }: LinkUpkeep): number => clock.unsafeCurrentTimeMillis() - link.now()

/** Timeout of a health check, in milliseconds, for a server whose config disables regular checks. */
const probeTimeout = 5000

/**
 * Runs a health check; concurrent callers share one. If it fails, the link is marked lost, unless the machine slept
 * meanwhile.
 */
export const probe = (upkeep: LinkUpkeep): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { link } = upkeep
    if (link.probing !== undefined) return Deferred.await(link.probing)
    const probed = Deferred.unsafeMake<void>(FiberId.none)
    link.probing = probed
    const finish = Effect.suspend(() => {
      link.probing = undefined
      return Deferred.succeed(probed, undefined)
    })
    // Forked into the link's scope: the first caller may be interrupted while others wait for the result.
    const probing = Effect.ensuring(Link.loseOnFault(link, probeOnce(upkeep)), finish)
    return Effect.zipRight(Link.forkWork(link, probing), Deferred.await(probed))
  })

const probeOnce = (upkeep: LinkUpkeep): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { config, link } = upkeep
    const clockGapBefore = clockGap(upkeep)
    return Effect.flatMap(
      Effect.either(link.session.probe(config.health === false ? probeTimeout : config.health.timeout)),
      Either.match({
        onRight: () =>
          Effect.sync(() => {
            link.heardAt = link.now()
          }),
        onLeft: (reason) =>
          clockGap(upkeep) - clockGapBefore > sleepTolerance
            ? probeOnce(upkeep)
            : Effect.sync(() => Link.markLost(link, reason))
      })
    )
  })

// --- lists ----------------------------------------------------------------------------------------------------------

/** A list is not fetched again for its age sooner than this, in milliseconds. */
const minTtl = 1000

const watchListAges = ({ config, link, refresh }: LinkUpkeep): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const [kind, { isStale }] of link.lists) if (isStale) yield* refresh(kind)
    while (true) {
      const due = [...link.lists].map(([kind, list]) => [kind, dueAt(list, config)] as const)
      const pause = smallest(due.map(([, at]) => at)) - link.now()
      if (pause <= 0 && link.fetching === 0) {
        for (const [kind, at] of due) if (at <= link.now()) yield* refresh(kind)
      }
      // After a refresh, the next pass reads the new ages. A list that changes meanwhile may expire sooner.
      if (pause > 0) yield* Effect.raceFirst(Effect.sleep(pause), Deferred.await(link.listsChanged))
      else yield* Effect.sleep(minTtl)
    }
  })

const dueAt = ({ fetchedAt, ttl }: Link.ListState, { catalogTtl }: ServerConfig): number =>
  // A TTL of 0 means that the list may change at any time; it is treated like an absent TTL.
  fetchedAt + (ttl === undefined || ttl <= 0 ? catalogTtl : Math.max(ttl, minTtl))

// --- rest -----------------------------------------------------------------------------------------------------------

const watchIdle = ({ config, link, onIdle }: LinkUpkeep): Effect.Effect<void> => {
  const { idleStop } = config
  if (!config.lazy || idleStop === undefined) return Effect.void
  return Effect.gen(function* () {
    while (true) {
      const pause = link.usedAt + idleStop - link.now()
      // Repeated while it holds: the lifecycle may have ignored an earlier event because of its state at that moment.
      if (pause <= 0 && !Link.isBusy(link)) onIdle()
      yield* Effect.sleep(pause > 0 ? pause : idleStop)
    }
  })
}
