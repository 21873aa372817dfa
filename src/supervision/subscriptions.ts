/**
 * Following a resource across all connections of its server.
 */
import * as Effect from "effect/Effect"
import * as Deferred from "effect/Deferred"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RequestError } from "../connection/Session.js"
import type { ReadError } from "../domain/Errors.js"
import type { Hub } from "./Hub.js"
import { monotonic } from "./Hub.js"
import type { Link } from "./Link.js"
import type { ResourceUpdated } from "./model.js"
import { awaitLink, usable } from "./request.js"
import type { ServerActor } from "./ServerActor.js"

export const follow = (hub: Hub, actor: ServerActor, uri: string): Stream.Stream<ResourceUpdated, ReadError> =>
  linksOf(hub, actor).pipe(
    Stream.flatMap(({ isFirst, link }) => {
      const updates = updatesOn(actor, link, uri)
      return isFirst ? updates : Stream.merge(updates, resynced(actor, link, uri), { haltStrategy: "left" })
    })
  )

interface Turn {
  readonly link: Link
  readonly isFirst: boolean
}

/** One usable connection after the other. The first is waited for as a request would; after that, as long as it takes. */
const linksOf = (hub: Hub, actor: ServerActor): Stream.Stream<Turn, ReadError> =>
  Stream.unfoldEffect(0, (after) => {
    const link =
      after === 0
        ? awaitLink(hub, actor, after, {
            started: monotonic(hub.clock),
            total: Number.POSITIVE_INFINITY,
            waitForReady: firstWait
          })
        : Effect.mapError(
            actor.until((state) => {
              // somebody listens: a server at rest is wanted
              if (state.phase._tag === "Resting") actor.send({ _tag: "Demanded" })
              return usable(actor, after)
            }),
            () => hub.goneError(actor.name)
          )
    return Effect.map(link, (link) => Option.some([{ link, isFirst: after === 0 }, link.generation] as const)).pipe(
      Effect.catchTag("SupervisorClosed", () => Effect.succeedNone)
    )
  })

/** Milliseconds. */
const firstWait = 10_000

const updatesOn = (actor: ServerActor, link: Link, uri: string): Stream.Stream<ResourceUpdated, RequestError> =>
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
    Stream.flatMap(() => link.session.subscribeResource(uri)),
    Stream.map(() => ({ server: actor.name, uri })),
    Stream.interruptWhen(Deferred.await(link.retired)),
    // the connection is over: the next one is subscribed to
    Stream.catchSome((error) =>
      error._tag === "NotSent" || error._tag === "OutcomeUnknown" ? Option.some(Stream.empty) : Option.none()
    )
  )

/** Said once the server answers again: what changed before that may have gone unheard. */
const resynced = (actor: ServerActor, link: Link, uri: string): Stream.Stream<ResourceUpdated> =>
  Stream.fromEffect(
    Effect.as(Effect.ignore(link.session.probe(probeTimeout)), { server: actor.name, uri, resync: true })
  )

const probeTimeout = "5 seconds"
