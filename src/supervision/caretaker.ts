/**
 * What is done for a connection that nobody uses: looks whether the server is still there, fetches lists that have become
 * old, and puts a lazy server to rest.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Random from "effect/Random"
import type * as Protocol from "../domain/Protocol.js"
import type { ServerConfig } from "../domain/ServerConfig.js"
import * as Link from "./Link.js"

export interface Care {
  readonly link: Link.Link
  readonly config: ServerConfig
  readonly clock: Clock.Clock
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
  /** Told when a lazy server has had nothing to do for as long as its config allows. */
  readonly onIdle: () => void
}

export const tend = (care: Care): Effect.Effect<never> =>
  Effect.all([watchHealth(care), renewLists(care), watchIdleness(care)], {
    concurrency: "unbounded",
    discard: true
  }).pipe(Effect.zipRight(Effect.never))

// --- health ---------------------------------------------------------------------------------------------------------

/** A wall clock that runs ahead of the monotonic one by more than this has slept. */
const sleepTolerance = 2000

/** After a sleep, servers are not all asked at the same moment. */
const wakeSpread = 2000

const watchHealth = (care: Care): Effect.Effect<void> => {
  const { config, link } = care
  if (config.health === false) return Effect.void
  const { interval } = config.health
  return Effect.gen(function* () {
    let awayBefore = awayFor(care)
    while (true) {
      const share = 0.75 + 0.25 * (yield* Random.next)
      // a request under way has clocks of its own, and a server that is busy with it may not answer anything else
      const wait = link.calls > 0 ? interval : link.heardAt + interval * share - link.now()
      if (wait > 0) {
        yield* Effect.sleep(wait)
        const hasSlept = awayFor(care) - awayBefore > sleepTolerance
        awayBefore = awayFor(care)
        if (!hasSlept) continue
        yield* Effect.sleep(wakeSpread * (yield* Random.next))
      }
      if (link.calls === 0) yield* probe(care)
    }
  })
}

/** How far the wall clock is ahead of the one that stands still while the machine sleeps. */
const awayFor = ({ clock, link }: Care): number => clock.unsafeCurrentTimeMillis() - link.now()

/** Asks for a sign of life. A connection that gives none is condemned, unless the machine slept meanwhile. */
export const probe = (care: Care): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { config, link } = care
    if (link.isProbing || config.health === false) return Effect.void
    const { timeout } = config.health
    link.isProbing = true
    const ask: Effect.Effect<void> = Effect.suspend(() => {
      const awayBefore = awayFor(care)
      return Effect.flatMap(
        Effect.either(link.session.probe(timeout)),
        Either.match({
          onRight: () =>
            Effect.sync(() => {
              link.heardAt = link.now()
            }),
          onLeft: (reason) =>
            awayFor(care) - awayBefore > sleepTolerance ? ask : Effect.sync(() => Link.condemn(link, reason))
        })
      )
    })
    return Effect.ensuring(
      ask,
      Effect.sync(() => {
        link.isProbing = false
      })
    )
  })

// --- lists ----------------------------------------------------------------------------------------------------------

/** No list is fetched again sooner than this because of its age. */
const shortestTtl = 1000

const renewLists = ({ config, link, refresh }: Care): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const [kind, { isStale }] of link.lists) if (isStale) yield* refresh(kind)
    while (true) {
      const due = [...link.lists].map(([kind, { fetchedAt, ttl }]) => {
        // 0 says that it may change at any time: then it is as good as unsaid
        const lasts = ttl === undefined || ttl <= 0 ? config.catalogTtl : Math.max(ttl, shortestTtl)
        return [kind, fetchedAt + lasts] as const
      })
      const next = Math.min(...due.map(([, at]) => at))
      yield* Effect.sleep(Math.max(shortestTtl, next - link.now()))
      for (const [kind, at] of due) if (at <= link.now()) yield* refresh(kind)
    }
  })

// --- rest -----------------------------------------------------------------------------------------------------------

const watchIdleness = ({ config, link, onIdle }: Care): Effect.Effect<void> => {
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
