/**
 * Receives change notifications of lists and resources. In the modern era the client opens a stream for them, and reopens it
 * when it ends.
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
import { type SdkChannel, limitsOf, perform, request, toRequestError } from "./sdkRequests.js"
import type { RequestError } from "../Session.js"

/** The maximum wait for the server to confirm the end of a subscription. */
const unsubscribeBudget = "1 second"

const retrySchedule = Schedule.exponential("1 second").pipe(
  Schedule.union(Schedule.spaced("1 minute")),
  Schedule.jittered,
  Schedule.resetAfter("2 minutes")
)

/**
 * Runs one stream of the modern era, from the server's acknowledgement to its end. Fails if the server does not acknowledge it.
 */
const listenOnce = (channel: SdkChannel, filter: SubscriptionFilter, opened: Effect.Effect<unknown>) =>
  Effect.uninterruptibleMask((restore) =>
    restore(
      // The signal only aborts the wait for the acknowledgement; the stream continues after it.
      perform(channel, limitsOf(channel), ({ signal, timeout }) => channel.client.listen(filter, { timeout, signal }))
    ).pipe(
      Effect.flatMap((subscription) =>
        restore(
          Effect.zipRight(
            opened,
            Effect.promise(() => subscription.closed)
          )
        ).pipe(Effect.ensuring(Effect.promise(() => subscription.close()).pipe(withinBudget(unsubscribeBudget))))
      )
    )
  )

/** Listens for list changes until interrupted. */
export const listenForChanges = (channel: SdkChannel, push: (push: Protocol.Push) => void): Effect.Effect<void> => {
  const { prompts, resources, tools } = channel.client.getServerCapabilities() ?? {}
  const filter: SubscriptionFilter = {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {})
  }
  if (Object.keys(filter).length === 0) return Effect.void
  return listenOnce(
    channel,
    filter,
    Effect.sync(() => push("open"))
  ).pipe(
    Effect.mapError(toRequestError(channel)),
    Effect.either,
    Effect.tap((ended) => Effect.sync(() => push(isNotOffered(ended) ? "none" : "degraded"))),
    Effect.repeat({
      schedule: retrySchedule,
      until: (ended) => isNotOffered(ended) || channel.classify().closed !== undefined
    }),
    Effect.asVoid
  )
}

const isNotOffered = (ended: Either.Either<unknown, RequestError>): boolean =>
  Either.isLeft(ended) && ended.left._tag === "ProtocolError" && ended.left.code === errorCodes.MethodNotFound

interface Subscription {
  readonly scope: Scope.CloseableScope
  readonly ready: Deferred.Deferred<void, RequestError>
  /** Completes when the server has been notified of the end of the subscription. */
  readonly left: Deferred.Deferred<void>
  readers: number
}

/** Creates the update streams of single resources. Readers of the same resource share one subscription. */
export const resourceUpdates = (
  channel: SdkChannel,
  updates: Broadcast<string>
): ((uri: string) => Stream.Stream<{ readonly uri: string }, RequestError>) => {
  const subscribed = new Map<string, Subscription>()

  const enter = (uri: string): Effect.Effect<Subscription> =>
    Effect.suspend(() => {
      const existing = subscribed.get(uri)
      if (existing === undefined) return begin(uri)
      // A new subscription must wait for the pending unsubscribe, which would otherwise cancel it.
      if (existing.readers === 0) return Effect.zipRight(Deferred.await(existing.left), enter(uri))
      existing.readers += 1
      return Effect.succeed(existing)
    })

  const begin = (uri: string) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ready = yield* Deferred.make<void, RequestError>()
      const left = yield* Deferred.make<void>()
      const entry: Subscription = { scope, ready, left, readers: 1 }
      subscribed.set(uri, entry)
      yield* (channel.era === "legacy" ? subscribe(channel, uri) : listen(channel, uri)).pipe(
        Effect.intoDeferred(ready),
        Effect.interruptible,
        Effect.forkIn(scope),
        Scope.extend(scope)
      )
      return entry
    })

  const leave = (uri: string, entry: Subscription) =>
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

const subscribe = (channel: SdkChannel, uri: string) =>
  Effect.acquireReleaseInterruptible(
    request(channel, limitsOf(channel), (options) => channel.client.subscribeResource({ uri }, options)),
    (exit) => (Exit.isSuccess(exit) || Exit.isInterrupted(exit) ? unsubscribe(channel, uri) : Effect.void)
  ).pipe(Effect.asVoid)

const unsubscribe = (channel: SdkChannel, uri: string) =>
  request(channel, limitsOf(channel), (options) => channel.client.unsubscribeResource({ uri }, options)).pipe(
    withinBudget(unsubscribeBudget),
    Effect.ignore
  )

/** Succeeds with the first acknowledgement of the server. The stream is then reopened until the scope closes. */
const listen = (channel: SdkChannel, uri: string) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void, RequestError>()
    yield* listenOnce(channel, { resourceSubscriptions: [uri] }, Deferred.succeed(ready, undefined)).pipe(
      Effect.mapError(toRequestError(channel)),
      Effect.tapError((error) => Deferred.fail(ready, error)),
      Effect.exit,
      Effect.repeat(retrySchedule),
      Effect.forkScoped
    )
    yield* Deferred.await(ready)
  })
