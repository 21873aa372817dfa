/**
 * Where a server's unasked words come from: in the legacy era they simply come; in the modern one a stream has to be asked
 * for, and asked for again when it ends.
 */
import type { SubscriptionFilter } from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { errorCodes } from "../../domain/catalog/Protocol.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { Broadcast } from "../../system/stream/Broadcast.js"
import { withinBudget } from "../../system/budget.js"
import { type Link, limitsOf, perform, request, toRequestError } from "./sdkRequests.js"
import type { RequestError } from "../Session.js"

/** How long the server may take to hear that we no longer listen. */
const farewell = "1 second"

const again = Schedule.exponential("1 second").pipe(
  Schedule.union(Schedule.spaced("1 minute")),
  Schedule.jittered,
  Schedule.resetAfter("2 minutes")
)

/** One stream of the modern era, from the server's consent to its end. Fails if there is no consent. */
const listenOnce = (link: Link, filter: SubscriptionFilter, opened: Effect.Effect<unknown>) =>
  Effect.uninterruptibleMask((restore) =>
    restore(
      // the stream goes on after the wait for it is over: nothing aborts the signal then
      perform(link, limitsOf(link), ({ signal, timeout }) => link.client.listen(filter, { timeout, signal }))
    ).pipe(
      Effect.flatMap((subscription) =>
        restore(
          Effect.zipRight(
            opened,
            Effect.promise(() => subscription.closed)
          )
        ).pipe(Effect.ensuring(Effect.promise(() => subscription.close()).pipe(withinBudget(farewell))))
      )
    )
  )

/** Listens for changes of lists for as long as it runs. */
export const listenForChanges = (link: Link, push: (push: Protocol.Push) => void): Effect.Effect<void> => {
  const { prompts, resources, tools } = link.client.getServerCapabilities() ?? {}
  const filter: SubscriptionFilter = {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {})
  }
  if (Object.keys(filter).length === 0) return Effect.void
  return listenOnce(
    link,
    filter,
    Effect.sync(() => push("open"))
  ).pipe(
    Effect.mapError(toRequestError(link)),
    Effect.either,
    Effect.tap((ended) => Effect.sync(() => push(isNotOffered(ended) ? "none" : "degraded"))),
    Effect.repeat({ schedule: again, until: (ended) => isNotOffered(ended) || link.classify().closed !== undefined }),
    Effect.asVoid
  )
}

const isNotOffered = (ended: Either.Either<unknown, RequestError>): boolean =>
  Either.isLeft(ended) && ended.left._tag === "ProtocolError" && ended.left.code === errorCodes.MethodNotFound

interface Subscribed {
  readonly scope: Scope.CloseableScope
  readonly ready: Deferred.Deferred<void, RequestError>
  /** Done when the server has been told that nobody listens any more. */
  readonly left: Deferred.Deferred<void>
  readers: number
}

/** Changes of single resources. Several readers of one resource share one subscription. */
export const resourceUpdates = (
  link: Link,
  updates: Broadcast<string>
): ((uri: string) => Stream.Stream<{ readonly uri: string }, RequestError>) => {
  const subscribed = new Map<string, Subscribed>()

  const enter = (uri: string): Effect.Effect<Subscribed> =>
    Effect.suspend(() => {
      const known = subscribed.get(uri)
      if (known === undefined) return begin(uri)
      // to subscribe before the last one has unsubscribed would end without a subscription
      if (known.readers === 0) return Effect.zipRight(Deferred.await(known.left), enter(uri))
      known.readers += 1
      return Effect.succeed(known)
    })

  const begin = (uri: string) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ready = yield* Deferred.make<void, RequestError>()
      const left = yield* Deferred.make<void>()
      const entry: Subscribed = { scope, ready, left, readers: 1 }
      subscribed.set(uri, entry)
      yield* (link.era === "legacy" ? subscribe(link, uri) : listen(link, uri)).pipe(
        Effect.intoDeferred(ready),
        Effect.interruptible,
        Effect.forkIn(scope),
        Scope.extend(scope)
      )
      return entry
    })

  const leave = (uri: string, entry: Subscribed) =>
    Effect.suspend(() => {
      entry.readers -= 1
      if (entry.readers > 0) return Effect.void
      return Scope.close(entry.scope, Exit.void).pipe(
        Effect.zipRight(Effect.sync(() => subscribed.delete(uri))),
        Effect.zipRight(Deferred.succeed(entry.left, undefined))
      )
    })

  return (uri) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const all = yield* updates.subscribe
        const entry = yield* Effect.acquireRelease(enter(uri), (entry) => leave(uri, entry))
        yield* Deferred.await(entry.ready)
        return all.pipe(
          Stream.filter((updated) => updated === uri),
          Stream.map((updated) => ({ uri: updated }))
        )
      })
    )
}

const subscribe = (link: Link, uri: string) =>
  Effect.acquireReleaseInterruptible(
    request(link, limitsOf(link), (options) => link.client.subscribeResource({ uri }, options)),
    (exit) => (Exit.isSuccess(exit) || Exit.isInterrupted(exit) ? unsubscribe(link, uri) : Effect.void)
  ).pipe(Effect.asVoid)

const unsubscribe = (link: Link, uri: string) =>
  request(link, limitsOf(link), (options) => link.client.unsubscribeResource({ uri }, options)).pipe(
    withinBudget(farewell),
    Effect.ignore
  )

/** Done when the server has consented for the first time; from then on it is asked again for as long as the scope lasts. */
const listen = (link: Link, uri: string) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void, RequestError>()
    yield* listenOnce(link, { resourceSubscriptions: [uri] }, Deferred.succeed(ready, undefined)).pipe(
      Effect.mapError(toRequestError(link)),
      Effect.tapError((error) => Deferred.fail(ready, error)),
      Effect.exit,
      Effect.repeat(again),
      Effect.forkScoped
    )
    yield* Deferred.await(ready)
  })
