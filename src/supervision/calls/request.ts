/**
 * Sends one request to a server as soon as a link is usable and it is its turn, and retries it once where this is safe.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RequestError } from "../../connection/Session.js"
import * as Errors from "../../domain/Errors.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerStatus } from "../../domain/server/ServerStatus.js"
import { type SupervisorContext, monotonic } from "../SupervisorContext.js"
import * as Link from "../actor/Link.js"
import type { ServerActor } from "../actor/ServerActor.js"

export interface Ask<A, E> {
  /** Monotonic milliseconds. */
  readonly started: number
  /** Milliseconds the request may take in all. */
  readonly total: number
  /** Milliseconds the request may wait for a usable link. */
  readonly waitForReady: number
  /** Returns the error if the request must not be sent. Called when a link is usable. */
  readonly refusal: () => E | undefined
  readonly send: (link: Link.Link, remaining: number) => Effect.Effect<A, RequestError>
  /** Whether the request may be retried at all. */
  readonly isRepeatable: boolean
  /** Whether the request may be retried even if the server may have executed it. */
  readonly isSafe: () => boolean
}

type Unready = Errors.ServerUnavailable | Errors.ServerNotFound | Errors.SupervisorClosed | Errors.CallTimeout

export const request = <A, E>(
  context: SupervisorContext,
  actor: ServerActor,
  ask: Ask<A, E>
): Effect.Effect<A, RequestFailure<E>> => attempt(context, actor, ask, first)

/** The state of earlier tries. */
interface Tried {
  /** Only a link of a newer generation is used. */
  readonly after: number
  /** A try was sent, and its outcome is unknown. */
  readonly lost: Errors.OutcomeUnknown | undefined
  /** A try was not sent. */
  readonly isUnsent: boolean
}

const first: Tried = { after: 0, lost: undefined, isUnsent: false }

type RequestFailure<E> = E | RequestError | Unready | Errors.Overloaded

const attempt = <A, E>(
  context: SupervisorContext,
  actor: ServerActor,
  ask: Ask<A, E>,
  tried: Tried
): Effect.Effect<A, RequestFailure<E>> =>
  Effect.flatMap(readyLink(context, actor, tried.after, ask), (link) => {
    const refusal = ask.refusal()
    if (refusal !== undefined) return Effect.fail(refusal)
    return Effect.catchAll(inTurn(context, actor, ask, link), (error) => {
      if (error._tag === "Changed") return attempt(context, actor, ask, tried)
      return recover(context, actor, ask, link, error, tried)
    })
  })

// --- a connection ---------------------------------------------------------------------------------------------------

export const usable = (actor: ServerActor, after: number): Link.Link | undefined => {
  const link = actor.link()
  return link !== undefined && link.generation > after && !link.isRetired && !link.isLost ? link : undefined
}

/** Returns a usable link. Waits for it within the limits of the request, as long as the server may become usable. */
const readyLink = (
  context: SupervisorContext,
  actor: ServerActor,
  after: number,
  ask: Pick<Ask<never, never>, "started" | "total" | "waitForReady">
): Effect.Effect<Link.Link, Unready> => {
  const link = usable(actor, after)
  return link === undefined ? awaitLink(context, actor, after, ask) : Effect.succeed(link)
}

export const awaitLink = (
  context: SupervisorContext,
  actor: ServerActor,
  after: number,
  ask: Pick<Ask<never, never>, "started" | "total" | "waitForReady">
): Effect.Effect<Link.Link, Unready> =>
  Effect.suspend(() => {
    const server = actor.name
    const remaining = ask.total - (monotonic(context.clock) - ask.started)
    const until = context.clock.unsafeCurrentTimeMillis() + ask.waitForReady
    const outlook = (
      state: Lifecycle.State
    ): { readonly link: Link.Link } | { readonly status: ServerStatus } | undefined => {
      const link = usable(actor, after)
      if (link !== undefined) return { link }
      const status = Lifecycle.status(state)
      actor.demand()
      return isPromising(status, until) ? undefined : { status }
    }
    return actor.until(outlook).pipe(
      Effect.catchAll(() => Effect.fail(context.goneError(server))),
      Effect.flatMap((found) =>
        "link" in found
          ? Effect.succeed(found.link)
          : Effect.fail(new Errors.ServerUnavailable({ server, status: found.status }))
      ),
      Effect.timeoutFail({
        duration: Math.max(0, Math.min(ask.waitForReady, remaining)),
        onTimeout: () =>
          remaining < ask.waitForReady
            ? new Errors.CallTimeout({ server, which: "total", sent: false, after: ask.total })
            : new Errors.ServerUnavailable({ server, status: Lifecycle.status(actor.state.get()) })
      })
    )
  })

/** Whether a server with this status may become usable before that time. */
const isPromising = (status: ServerStatus, until: number): boolean => {
  switch (status.status) {
    case "connecting":
    case "idle":
    // A connected server without a usable link is about to lose it and to reconnect.
    case "connected":
      return true
    case "failed":
      return status.retryAt !== undefined && status.retryAt <= until
    case "disabled":
    case "needs_auth":
    case "needs_client_registration":
      return false
  }
}

// --- its turn -------------------------------------------------------------------------------------------------------

/** The link was replaced while the request waited for its turn. */
interface Changed {
  readonly _tag: "Changed"
}

const changed: Changed = { _tag: "Changed" }

const inTurn = <A, E>(
  context: SupervisorContext,
  actor: ServerActor,
  ask: Ask<A, E>,
  link: Link.Link
): Effect.Effect<A, RequestError | Errors.Overloaded | Changed> => {
  const { gate, metrics } = actor
  const remaining = () => ask.total - (monotonic(context.clock) - ask.started)
  return Effect.uninterruptibleMask((restore) => {
    const inside = (): Effect.Effect<A, RequestError | Changed> => {
      const left = remaining()
      const isChanged = usable(actor, 0) !== link
      if (isChanged || left <= 0) {
        gate.leave()
        return Effect.fail(isChanged ? changed : outOfTime(actor, ask))
      }
      Link.beginRequest(link)
      metrics.inFlight(1)
      return Effect.onExit(restore(ask.send(link, left)), (exit) =>
        Effect.sync(() => {
          gate.leave()
          Link.endRequest(link, isAnswered(exit))
          metrics.inFlight(-1)
        })
      )
    }
    if (gate.tryEnter()) return inside()
    metrics.queued(gate.waiting() + 1)
    const counted = Effect.sync(() => metrics.queued(gate.waiting()))
    return gate.enter(Math.max(0, remaining()), restore).pipe(
      Effect.ensuring(counted),
      Effect.flatMap((place): Effect.Effect<A, RequestError | Errors.Overloaded | Changed> => {
        if (place === "in") return inside()
        return Effect.fail(
          place === "late"
            ? outOfTime(actor, ask)
            : new Errors.Overloaded({ server: actor.name, queued: gate.waiting() })
        )
      })
    )
  })
}

/** Whether the server responded. An error response shows that the server is alive, like a result does. */
const isAnswered = (exit: Exit.Exit<unknown, RequestError>): boolean =>
  Exit.isSuccess(exit) || (exit.cause._tag === "Fail" && answers.has(exit.cause.error._tag))

const answers = new Set(["ProtocolError", "InvalidResult", "RateLimited"])

const outOfTime = (actor: ServerActor, { total }: { readonly total: number }) =>
  new Errors.CallTimeout({ server: actor.name, which: "total", sent: false, after: total })

// --- when it goes wrong ---------------------------------------------------------------------------------------------

/**
 * Checks the health of a link on which a request failed. Retries the request if it was not sent, or if it was sent and
 * is safe to repeat; each of the two at most once.
 */
const recover = <A, E>(
  context: SupervisorContext,
  actor: ServerActor,
  ask: Ask<A, E>,
  link: Link.Link,
  error: RequestError | Errors.Overloaded,
  tried: Tried
): Effect.Effect<A, RequestFailure<E>> => {
  const remaining = ask.total - (monotonic(context.clock) - ask.started)
  /**
   * Whether the link is lost. If the time of the request ends before this is known, the request fails with its error.
   */
  const isOver = Effect.timeoutFail(actor.isOver(link), { duration: Math.max(0, remaining), onTimeout: () => error })
  switch (error._tag) {
    case "CallTimeout": {
      const timeout = error.which === "total" ? new Errors.CallTimeout({ ...error, after: ask.total }) : error
      return error.sent ? Effect.zipRight(actor.suspect(link), Effect.fail(timeout)) : Effect.fail(timeout)
    }
    case "OutcomeUnknown":
      if (tried.lost !== undefined || !ask.isSafe()) return Effect.zipRight(actor.suspect(link), Effect.fail(error))
      return Effect.flatMap(isOver, (isOver) => {
        const after = isOver ? link.generation : tried.after
        const again = attempt(context, actor, ask, { ...tried, after, lost: error })
        return Effect.mapError(again, (second) => (saysMore(second) ? second : outlived(error, second)))
      })
    case "NotSent":
      if (tried.isUnsent || !ask.isRepeatable) return Effect.zipRight(actor.suspect(link), Effect.fail(error))
      return Effect.flatMap(isOver, (isOver) =>
        // A server that is alive would reject the request again.
        isOver ? attempt(context, actor, ask, { ...tried, after: link.generation, isUnsent: true }) : Effect.fail(error)
      )
    default:
      return Effect.fail(error)
  }
}

/** Whether the error comes from the server, or says itself that the call may have been executed. */
const saysMore = (error: unknown): boolean =>
  error instanceof Errors.OutcomeUnknown ||
  error instanceof Errors.ProtocolError ||
  error instanceof Errors.InvalidResult ||
  error instanceof Errors.RateLimited

/** That the first try may have been executed matters more than the reason why the second failed. */
const outlived = (first: Errors.OutcomeUnknown, second: unknown): Errors.OutcomeUnknown | Errors.CallTimeout =>
  second instanceof Errors.CallTimeout ? new Errors.CallTimeout({ ...second, sent: true }) : first
