/**
 * Resource subscriptions of a fake server, one per URI and shared by all readers.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Broadcast from "../../system/stream/Broadcast.js"
import type * as Session from "../../connection/Session.js"
import { exchange } from "./fakeExchange.js"
import { background, change, type FakeLink, resolve, type Subscription } from "./link.js"

interface Clocks {
  readonly idle: number
  readonly total: number
}

export const subscribe = (
  link: FakeLink,
  uri: string,
  clocks: Clocks
): Stream.Stream<{ readonly uri: string }, Session.RequestError> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const subscription = yield* Effect.acquireRelease(enter(link, uri, clocks), (entered) =>
        leave(link, uri, entered)
      )
      // Subscribes before the request is sent: an update right after the response must not be missed.
      const updates = yield* subscription.updates.subscribe
      yield* Deferred.await(subscription.ready)
      return updates
    })
  )

const enter = (link: FakeLink, uri: string, clocks: Clocks): Effect.Effect<Subscription> =>
  Effect.suspend(() => {
    const known = link.subscriptions.get(uri)
    if (known !== undefined) {
      known.readers++
      return Effect.succeed(known)
    }
    return Effect.gen(function* () {
      const subscription: Subscription = {
        updates: Broadcast.make({ key: () => uri, capacity: 1, early: false }),
        ready: yield* Deferred.make<void, Session.RequestError>(),
        readers: 1,
        asking: undefined
      }
      link.subscriptions.set(uri, subscription)
      subscription.asking = yield* background(link, ask(link, uri, clocks, subscription))
      return subscription
    })
  })

const ask = (link: FakeLink, uri: string, clocks: Clocks, subscription: Subscription): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.intoDeferred(
      exchange<void>(link, {
        ...clocks,
        method: "resources/subscribe",
        name: uri,
        args: {},
        fact: { type: "subscribed", uri },
        answer: (call) => resolve(link.settings.subscribes, call)
      }),
      subscription.ready
    )
  )

const leave = (link: FakeLink, uri: string, subscription: Subscription): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (--subscription.readers > 0) return Effect.void
    if (link.subscriptions.get(uri) === subscription) link.subscriptions.delete(uri)
    return Effect.gen(function* () {
      const answer = yield* Deferred.poll(subscription.ready)
      if (answer._tag === "None") return yield* Fiber.interruptFork(subscription.asking!)
      const subscribed = yield* Effect.isSuccess(answer.value)
      yield* change(link, (write) => {
        if (subscribed && link.stage === "open") write({ type: "unsubscribed", uri })
      })
    })
  })
