/**
 * What happened to a server and was not dealt with yet. Whoever waits for something to be dealt with does not wait in vain:
 * the end of the inbox is an answer, too.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type { Listings } from "../../domain/catalog/Catalog.js"
import type * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { Definition } from "../servers/Definition.js"

type Unstamped<Event> = Event extends unknown ? Omit<Event, "at" | "random"> : never

/** An event of the lifecycle. Time and randomness are added when it is dealt with. */
export type Event = Unstamped<Lifecycle.Event>

/** An event, a new definition, or both, which then count as one. Neither is a reason to look again. */
export interface Message {
  readonly event?: Event | undefined
  readonly definition?: Definition | undefined
  /** With a new definition: its lists as they were kept from an earlier run. */
  readonly kept?: Listings | undefined
}

interface Entry extends Message {
  readonly done?: (() => void) | undefined
}

export interface Inbox {
  readonly send: (message: Message) => void
  /** Sends, and waits until that has been dealt with. */
  readonly tell: (message: Message) => Effect.Effect<void>
  /** Deals with the next message, as soon as there is one. */
  readonly next: <E, R>(handle: (message: Message) => Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
  /** Nothing is dealt with any more. */
  readonly end: () => void
}

export const make: Effect.Effect<Inbox> = Effect.map(Queue.unbounded<Entry>(), (queue) => {
  const waiting = new Set<() => void>()
  let ended = false
  return {
    send: (message) => {
      if (!ended) queue.unsafeOffer(message)
    },
    tell: (message) =>
      Effect.async<void>((resume) => {
        if (ended) return resume(Effect.void)
        const done = () => {
          waiting.delete(done)
          resume(Effect.void)
        }
        waiting.add(done)
        queue.unsafeOffer({ ...message, done })
      }),
    next: (handle) =>
      Effect.flatMap(Queue.take(queue), (entry) =>
        Effect.ensuring(
          handle(entry),
          Effect.sync(() => entry.done?.())
        )
      ),
    end: () => {
      ended = true
      for (const done of waiting) done()
    }
  }
})
