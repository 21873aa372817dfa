/**
 * Subscribes to a resource across all links of its server.
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

/**
 * Emits one usable link after the other. The wait for the first is limited like that of a request; later waits are
 * unlimited.
 */
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
              // An open subscription starts an idle server.
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

/** Emits updates until the link is retired, closed or lost. */
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

const isOver = ({ loss, retirement, session }: Link): Effect.Effect<void> =>
  Effect.raceAll([Deferred.await(retirement), Effect.asVoid(session.closed), Effect.asVoid(Deferred.await(loss))])

/**
 * Subscribes on one link. Only the first subscription fails for an error response; later ones are retried without
 * limit.
 */
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

/** Milliseconds before the first retry on the same link. */
const firstPause = 500
const longer = (pause: number): number => Math.min(2 * pause, 30_000)

/** Emitted once the server responds again: updates before that may have been missed. */
const resynced = (link: Link, uri: string): Stream.Stream<ResourceUpdated> =>
  Stream.fromEffect(
    Effect.as(Effect.ignore(link.session.probe(probeTimeout)), { server: link.server, uri, resync: true })
  )

const probeTimeout = "5 seconds"
