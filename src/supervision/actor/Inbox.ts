/**
 * The queue of messages that a server's actor has not handled yet. `tell` always returns: when the message was handled,
 * or when the inbox was closed.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type { Listings } from "../../domain/catalog/Catalog.js"
import type * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { Definition } from "../servers/Definition.js"

type Unstamped<Event> = Event extends unknown ? Omit<Event, "at" | "random"> : never

/** An event of the lifecycle. Time and randomness are added when it is handled. */
export type UnstampedEvent = Unstamped<Lifecycle.Event>

/**
 * An event, a new definition, or both, handled in one step. A message with neither makes the actor check its state
 * again.
 */
export interface ActorMessage {
  readonly event?: UnstampedEvent | undefined
  readonly definition?: Definition | undefined
  /** With a new definition: the listings stored in an earlier run. */
  readonly cachedListings?: Listings | undefined
}

interface QueuedMessage extends ActorMessage {
  readonly onHandled?: (() => void) | undefined
}

export interface Inbox {
  readonly send: (message: ActorMessage) => void
  /** Sends a message, and returns when it was handled or the inbox was closed. */
  readonly tell: (message: ActorMessage) => Effect.Effect<void>
  /** Takes the next message, waiting if there is none, and handles it. */
  readonly next: <E, R>(handle: (message: ActorMessage) => Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
  /** Closes the inbox. Later messages are dropped. */
  readonly end: () => void
}

export const make: Effect.Effect<Inbox> = Effect.map(Queue.unbounded<QueuedMessage>(), (queue) => {
  const pendingTells = new Set<() => void>()
  let isEnded = false
  return {
    send: (message) => {
      if (!isEnded) queue.unsafeOffer(message)
    },
    tell: (message) =>
      Effect.async<void>((resume) => {
        if (isEnded) return resume(Effect.void)
        const resolve = () => {
          pendingTells.delete(resolve)
          resume(Effect.void)
        }
        pendingTells.add(resolve)
        queue.unsafeOffer({ ...message, onHandled: resolve })
      }),
    next: (handle) =>
      Effect.flatMap(Queue.take(queue), (entry) =>
        Effect.ensuring(
          handle(entry),
          Effect.sync(() => entry.onHandled?.())
        )
      ),
    end: () => {
      isEnded = true
      for (const resolve of pendingTells) resolve()
    }
  }
})
