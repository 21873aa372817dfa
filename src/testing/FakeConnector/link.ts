/**
 * The state of one attempt and of the session it leads to. Every change is one step of the journal.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import type { Broadcast } from "../../system/stream/Broadcast.js"
import type { ConnectOptions } from "../../connection/Connector.js"
import type * as Session from "../../connection/Session.js"
import * as Errors from "../../domain/Errors.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import type { Fact, Journal, Write } from "./journal.js"
import type { Answer, Call, ServerOptions } from "./model.js"

/** What all attempts of one fake share. */
export interface World {
  readonly journal: Journal
  /** Tool calls that wait for their answer and were not handed to the test yet. */
  readonly pendingCalls: Set<Call<Protocol.CallToolResult>>
  /** Attempts whose scope is not closed. */
  readonly unclosed: Set<Link>
  lastCall: number
}

export interface Subscription {
  readonly updates: Broadcast<{ readonly uri: string }>
  readonly ready: Deferred.Deferred<void, Session.RequestError>
  readers: number
  /** Asks the server, until it has answered. */
  asking: Fiber.RuntimeFiber<void, never> | undefined
}

export interface Link {
  readonly world: World
  readonly options: ConnectOptions
  readonly number: number
  /** Of everything the server does by itself. */
  readonly scope: Scope.CloseableScope
  readonly notifications: Broadcast<Session.Notification>
  readonly logs: Broadcast<Protocol.LogLine>
  readonly closed: Deferred.Deferred<Errors.ConnectionError>
  /** By URI, as long as somebody listens. */
  readonly subscriptions: Map<string, Subscription>
  /** What has to be told when the session ends. */
  readonly onEnd: Set<(reason: Errors.ConnectionError) => void>
  stage: "opening" | "open" | "over"
  /** Whether it ever was open. */
  opened: boolean
  /** Why it is over, if it had been open. */
  reason: Errors.ConnectionError | undefined
  settings: ServerOptions
  /** How many questions are open, and since when there has been one. */
  questions: number
  askedAt: number
  /** How long the clocks have stood still, before that. */
  stood: number
  /** Done when they go on. Absent while they do. */
  resumed: Deferred.Deferred<void> | undefined
  push: Protocol.Push
  logLevel: Protocol.LogLevel
}

/** Makes a change; what `write` gets is written down as a fact about this link. */
export const change = <A>(link: Link, f: (write: (fact: Fact) => void, now: number) => A): Effect.Effect<A> =>
  link.world.journal.change((write: Write, now) => f((fact) => write(link.options.server, link.number, fact), now))

/** Starts what the server does by itself. It ends with the link, also where its starter could not be interrupted. */
export const background = <A, E>(link: Link, effect: Effect.Effect<A, E>): Effect.Effect<Fiber.RuntimeFiber<A, E>> =>
  Effect.forkIn(Effect.interruptible(effect), link.scope)

/** A change to an open session; false if it is not open. */
export const whenOpen = (link: Link, f: (write: (fact: Fact) => void, now: number) => void): Effect.Effect<boolean> =>
  change(link, (write, now) => {
    if (link.stage !== "open") return false
    f(write, now)
    return true
  })

export const notify = (link: Link, notification: Session.Notification): Effect.Effect<boolean> =>
  whenOpen(link, (write) => {
    link.notifications.publish(notification)
    write({ type: "notified", notification })
  })

export const resolve = <A, E>(answer: Answer<A, E>, call: Call<A>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const given = typeof answer === "function" ? (answer as (call: Call<A>) => A | Effect.Effect<A, E>)(call) : answer
    return Effect.isEffect(given) ? (given as Effect.Effect<A, E>) : Effect.succeed(given)
  })

export const refusal = (link: Link, code: number, message: string) =>
  new Errors.ProtocolError({ server: link.options.server, code, message })

/** The time as the clocks of requests see it: it stands still while the server waits for a person. */
export const clockTime = (link: Link, now: number): number => (link.questions > 0 ? link.askedAt : now) - link.stood

/** Stops the clocks of all requests: a server does not say which of them a question is about. */
const holding = <A, E>(link: Link, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.clockWith((clock) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        if (link.questions++ > 0) return
        link.askedAt = clock.unsafeCurrentTimeMillis()
        link.resumed = Deferred.unsafeMake(FiberId.none)
      }),
      () => effect,
      () =>
        Effect.sync(() => {
          if (--link.questions > 0 || link.resumed === undefined) return
          link.stood += clock.unsafeCurrentTimeMillis() - link.askedAt
          Deferred.unsafeDone(link.resumed, Effect.void)
          link.resumed = undefined
        })
    )
  )

/** Lets a handler of the client answer. The end of the session ends the wait for it. */
const ask = <Request, Result>(
  link: Link,
  method: Extract<Fact, { readonly type: "asked" }>["method"],
  handler: ((request: Request) => Effect.Effect<Result>) | undefined,
  request: Request
): Effect.Effect<Result, Errors.ProtocolError> => {
  const gone = refusal(link, -32000, "Connection closed")
  return Effect.flatMap(
    whenOpen(link, (write) => write({ type: "asked", method })),
    (open) => {
      if (!open) return Effect.fail(gone)
      if (handler === undefined) {
        return Effect.fail(refusal(link, Protocol.errorCodes.MethodNotFound, `Method not found: ${method}`))
      }
      return Effect.raceFirst(
        holding(link, handler(request)),
        Effect.async<never, Errors.ProtocolError>((resume) => {
          const ended = () => resume(Effect.fail(gone))
          if (link.stage !== "open") return ended()
          link.onEnd.add(ended)
          return Effect.sync(() => link.onEnd.delete(ended))
        })
      )
    }
  )
}

export const elicit = (link: Link, request: Protocol.ElicitRequest) =>
  ask(link, "elicitation/create", link.options.handlers?.elicit, request)

export const sample = (link: Link, request: Protocol.SampleRequest) =>
  ask(link, "sampling/createMessage", link.options.handlers?.sample, request)
