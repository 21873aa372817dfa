/**
 * The state of one attempt of a fake connector and of its session. Each change is one step of the journal.
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

/** The state that all attempts of one fake share. */
export interface World {
  readonly journal: Journal
  /** The pending tool calls that were not returned to the test yet. */
  readonly pendingCalls: Set<Call<Protocol.CallToolResult>>
  /** The attempts whose scope is not closed. */
  readonly unclosed: Set<FakeLink>
  lastCall: number
}

export interface Subscription {
  readonly updates: Broadcast<{ readonly uri: string }>
  readonly ready: Deferred.Deferred<void, Session.RequestError>
  readers: number
  /** The fiber of the subscribe request, until the server has answered. */
  asking: Fiber.RuntimeFiber<void, never> | undefined
}

export interface FakeLink {
  readonly world: World
  readonly options: ConnectOptions
  readonly number: number
  /** The scope of all background fibers of the server. */
  readonly scope: Scope.CloseableScope
  readonly notifications: Broadcast<Session.Notification>
  readonly logs: Broadcast<Protocol.LogLine>
  readonly closed: Deferred.Deferred<Errors.ConnectionError>
  /** The subscriptions by URI, while they have readers. */
  readonly subscriptions: Map<string, Subscription>
  /** The callbacks for the end of the session. */
  readonly onEnd: Set<(reason: Errors.ConnectionError) => void>
  stage: "opening" | "open" | "over"
  /** Whether the session was ever open. */
  opened: boolean
  /** The reason for the end of an opened session. */
  reason: Errors.ConnectionError | undefined
  settings: ServerOptions
  /** The number of open questions to the client, and the time since which there is at least one. */
  questions: number
  askedAt: number
  /** The time for which the clocks were held before. */
  stood: number
  /** Completes when the clocks resume. Undefined while they run. */
  resumed: Deferred.Deferred<void> | undefined
  push: Protocol.Push
  logLevel: Protocol.LogLevel
}

/** Makes a change. `write` records an event of this link. */
export const change = <A>(link: FakeLink, f: (write: (fact: Fact) => void, now: number) => A): Effect.Effect<A> =>
  link.world.journal.change((write: Write, now) => f((fact) => write(link.options.server, link.number, fact), now))

/** Starts a background fiber of the server. It ends with the link, even if its starter is uninterruptible. */
export const background = <A, E>(
  link: FakeLink,
  effect: Effect.Effect<A, E>
): Effect.Effect<Fiber.RuntimeFiber<A, E>> => Effect.forkIn(Effect.interruptible(effect), link.scope)

/** Changes an open session. Returns false if it is not open. */
export const whenOpen = (
  link: FakeLink,
  f: (write: (fact: Fact) => void, now: number) => void
): Effect.Effect<boolean> =>
  change(link, (write, now) => {
    if (link.stage !== "open") return false
    f(write, now)
    return true
  })

export const notify = (link: FakeLink, notification: Session.Notification): Effect.Effect<boolean> =>
  whenOpen(link, (write) => {
    link.notifications.publish(notification)
    write({ type: "notified", notification })
  })

/** Runs a scripted response for a call. */
export const resolve = <A, E>(answer: Answer<A, E>, call: Call<A>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const given = typeof answer === "function" ? (answer as (call: Call<A>) => A | Effect.Effect<A, E>)(call) : answer
    return Effect.isEffect(given) ? (given as Effect.Effect<A, E>) : Effect.succeed(given)
  })

export const refusal = (link: FakeLink, code: number, message: string) =>
  new Errors.ProtocolError({ server: link.options.server, code, message })

/** The time for the clocks of requests: it stands still while they are held. */
export const clockTime = (link: FakeLink, now: number): number => (link.questions > 0 ? link.askedAt : now) - link.stood

/** Holds the clocks of all requests: a server does not say which request a question belongs to. */
const holding = <A, E>(link: FakeLink, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
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

/** Runs a handler of the client. The wait ends with the session. */
const ask = <Request, Result>(
  link: FakeLink,
  method: Extract<Fact, { readonly type: "asked" }>["method"],
  handler: ((request: Request) => Effect.Effect<Result>) | undefined,
  request: Request
): Effect.Effect<Result, Errors.ProtocolError> => {
  const closedError = refusal(link, -32000, "Connection closed")
  return Effect.flatMap(
    whenOpen(link, (write) => write({ type: "asked", method })),
    (open) => {
      if (!open) return Effect.fail(closedError)
      if (handler === undefined) {
        return Effect.fail(refusal(link, Protocol.errorCodes.MethodNotFound, `Method not found: ${method}`))
      }
      return Effect.raceFirst(
        holding(link, handler(request)),
        Effect.async<never, Errors.ProtocolError>((resume) => {
          const ended = () => resume(Effect.fail(closedError))
          if (link.stage !== "open") return ended()
          link.onEnd.add(ended)
          return Effect.sync(() => link.onEnd.delete(ended))
        })
      )
    }
  )
}

export const elicit = (link: FakeLink, request: Protocol.ElicitRequest) =>
  ask(link, "elicitation/create", link.options.handlers?.elicit, request)

export const sample = (link: FakeLink, request: Protocol.SampleRequest) =>
  ask(link, "sampling/createMessage", link.options.handlers?.sample, request)
