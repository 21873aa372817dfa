/**
 * Following a resource across all connections of its server.
 */
import * as Effect from "effect/Effect"
import * as Deferred from "effect/Deferred"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RequestError } from "../../connection/Session.js"
import type { ReadError } from "../../domain/Errors.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import { monotonic } from "../SupervisorContext.js"
import type { Link } from "../actor/Link.js"
import type { ResourceUpdated } from "../model.js"
import { awaitLink, usable } from "./request.js"
import type { ServerActor } from "../actor/ServerActor.js"

export const follow = (
  context: SupervisorContext,
  actor: ServerActor,
  uri: string
): Stream.Stream<ResourceUpdated, ReadError> =>
  Stream.flatMap(linksOf(context, actor), ({ isFirst, link }) => updatesOn(link, uri, isFirst))

interface Turn {
  readonly link: Link
  readonly isFirst: boolean
}

/** One usable connection after the other. The first is waited for as a request would; after that, as long as it takes. */
const linksOf = (context: SupervisorContext, actor: ServerActor): Stream.Stream<Turn, ReadError> =>
  Stream.unfoldEffect(0, (after) => {
    const link =
      after === 0
        ? awaitLink(context, actor, after, {
            started: monotonic(context.clock),
            total: Number.POSITIVE_INFINITY,
            waitForReady: firstWait
          })
        : Effect.mapError(
            actor.until(() => {
              // somebody listens: a server at rest is wanted
              actor.demand()
              return usable(actor, after)
            }),
            () => context.goneError(actor.name)
          )
    return Effect.map(link, (link) => Option.some([{ link, isFirst: after === 0 }, link.generation] as const)).pipe(
      Effect.catchTag("SupervisorClosed", () => Effect.succeedNone)
    )
  })

/** Milliseconds. */
const firstWait = 10_000

/** Until the connection is over. */
const updatesOn = (link: Link, uri: string, isFirst: boolean): Stream.Stream<ResourceUpdated, RequestError> =>
  Stream.acquireRelease(
    Effect.sync(() => {
      link.subscriptions += 1
    }),
    () =>
      Effect.sync(() => {
        link.subscriptions -= 1
        link.usedAt = link.now()
      })
  ).pipe(
    Stream.flatMap(() => subscribed(link, uri, isFirst, firstPause)),
    Stream.interruptWhen(isOver(link))
  )

const isOver = ({ condemned, retired, session }: Link): Effect.Effect<void> =>
  Effect.raceAll([Deferred.await(retired), Effect.asVoid(session.closed), Effect.asVoid(Deferred.await(condemned))])

/** Only what is wrong from the beginning is told. Later, it is subscribed to again, as long as it takes. */
const subscribed = (
  link: Link,
  uri: string,
  isFirst: boolean,
  pause: number
): Stream.Stream<ResourceUpdated, RequestError> => {
  const { server } = link
  const updates = Stream.map(link.session.subscribeResource(uri), () => ({ server, uri }))
  const all = isFirst ? updates : Stream.merge(updates, resynced(link, uri), { haltStrategy: "left" })
  return Stream.catchAll(all, (error) =>
    isFirst && error._tag !== "NotSent" && error._tag !== "OutcomeUnknown"
      ? Stream.fail(error)
      : Stream.unwrap(
          Effect.delay(
            Effect.sync(() => subscribed(link, uri, false, longer(pause))),
            pause
          )
        )
  )
}

/** Milliseconds before it is subscribed to once more on the same connection. */
const firstPause = 500
const longer = (pause: number): number => Math.min(2 * pause, 30_000)

/** Said once the server answers again: what changed before that may have gone unheard. */
const resynced = (link: Link, uri: string): Stream.Stream<ResourceUpdated> =>
  Stream.fromEffect(
    Effect.as(Effect.ignore(link.session.probe(probeTimeout)), { server: link.server, uri, resync: true })
  )

const probeTimeout = "5 seconds"
