/**
 * One request to one server, whichever connection it has: waits for a usable one, for its turn, sends, and repeats it once
 * where that can do no harm.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RequestError } from "../connection/Session.js"
import * as Errors from "../domain/Errors.js"
import * as Lifecycle from "../domain/Lifecycle.js"
import type { ServerStatus } from "../domain/ServerStatus.js"
import { type Hub, monotonic } from "./Hub.js"
import * as Link from "./Link.js"
import type { ServerActor } from "./ServerActor.js"

export interface Ask<A, E> {
  /** Monotonic milliseconds. */
  readonly started: number
  /** Milliseconds it may take in all. */
  readonly total: number
  /** Milliseconds it may wait for a usable connection. */
  readonly waitForReady: number
  /** Why it must not be sent after all, asked when there is a connection. */
  readonly refusal: () => E | undefined
  readonly send: (link: Link.Link, remaining: number) => Effect.Effect<A, RequestError>
  /** Whether it may be repeated at all. */
  readonly isRepeatable: boolean
  /** Whether it may be repeated even if it was executed. */
  readonly isSafe: () => boolean
}

type Unready = Errors.ServerUnavailable | Errors.ServerNotFound | Errors.SupervisorClosed | Errors.CallTimeout

export const request = <A, E>(
  hub: Hub,
  actor: ServerActor,
  ask: Ask<A, E>
): Effect.Effect<A, E | RequestError | Unready | Errors.Overloaded> => attempt(hub, actor, ask, 0, false)

type Failure<E> = E | RequestError | Unready | Errors.Overloaded

const attempt = <A, E>(
  hub: Hub,
  actor: ServerActor,
  ask: Ask<A, E>,
  /** Only a connection newer than this will do. */
  after: number,
  isRepeated: boolean
): Effect.Effect<A, Failure<E>> =>
  Effect.flatMap(readyLink(hub, actor, after, ask), (link) => {
    const refusal = ask.refusal()
    if (refusal !== undefined) return Effect.fail(refusal)
    return Effect.catchAll(inTurn(hub, actor, ask, link), (error) => {
      if (error._tag === "Changed") return attempt(hub, actor, ask, after, isRepeated)
      return recover(hub, actor, ask, link, error, isRepeated)
    })
  })

// --- a connection ---------------------------------------------------------------------------------------------------

export const usable = (actor: ServerActor, after: number): Link.Link | undefined => {
  const link = actor.link()
  return link !== undefined && link.generation > after && !link.isRetired ? link : undefined
}

/** Waits for a usable connection, as long as it can be expected and is wanted. */
const readyLink = (
  hub: Hub,
  actor: ServerActor,
  after: number,
  ask: Pick<Ask<never, never>, "started" | "total" | "waitForReady">
): Effect.Effect<Link.Link, Unready> => {
  const link = usable(actor, after)
  return link === undefined ? awaitLink(hub, actor, after, ask) : Effect.succeed(link)
}

export const awaitLink = (
  hub: Hub,
  actor: ServerActor,
  after: number,
  ask: Pick<Ask<never, never>, "started" | "total" | "waitForReady">
): Effect.Effect<Link.Link, Unready> =>
  Effect.suspend(() => {
    const server = actor.name
    const remaining = ask.total - (monotonic(hub.clock) - ask.started)
    const until = hub.clock.unsafeCurrentTimeMillis() + ask.waitForReady
    const outlook = (
      state: Lifecycle.State
    ): { readonly link: Link.Link } | { readonly status: ServerStatus } | undefined => {
      const link = usable(actor, after)
      if (link !== undefined) return { link }
      const status = Lifecycle.status(state)
      if (status.status === "idle") actor.send({ _tag: "Demanded" })
      return isPromising(status, until) ? undefined : { status }
    }
    return actor.state.until(outlook).pipe(
      Effect.catchAll(() => Effect.fail(hub.goneError(server))),
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

/** Whether a server in this status may be usable before that time. */
const isPromising = (status: ServerStatus, until: number): boolean => {
  switch (status.status) {
    case "connecting":
    case "idle":
    // what is connected and of no use is about to be lost
    case "connected":
      return true
    case "failed":
      return status.retryAt !== undefined && status.retryAt <= until
    default:
      return false
  }
}

// --- its turn -------------------------------------------------------------------------------------------------------

/** The connection was replaced while the request waited for its turn. */
interface Changed {
  readonly _tag: "Changed"
}

const changed: Changed = { _tag: "Changed" }

const inTurn = <A, E>(
  hub: Hub,
  actor: ServerActor,
  ask: Ask<A, E>,
  link: Link.Link
): Effect.Effect<A, RequestError | Errors.Overloaded | Changed> => {
  const { gate, metrics } = actor
  const remaining = () => ask.total - (monotonic(hub.clock) - ask.started)
  return Effect.uninterruptibleMask((restore) => {
    const inside = (): Effect.Effect<A, RequestError | Changed> => {
      const left = remaining()
      const isChanged = actor.link() !== link || link.isRetired
      if (isChanged || left <= 0) {
        gate.leave()
        return Effect.fail(isChanged ? changed : outOfTime(actor, ask))
      }
      Link.enter(link)
      metrics.inFlight(1)
      return Effect.onExit(restore(ask.send(link, left)), (exit) =>
        Effect.sync(() => {
          gate.leave()
          Link.leave(link, exit._tag === "Success")
          metrics.inFlight(-1)
        })
      )
    }
    if (gate.tryEnter()) return inside()
    metrics.queued(gate.waiting() + 1)
    const counted = Effect.sync(() => metrics.queued(gate.waiting()))
    return restore(gate.enter(Math.max(0, remaining()))).pipe(
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

const outOfTime = (actor: ServerActor, { total }: { readonly total: number }) =>
  new Errors.CallTimeout({ server: actor.name, which: "total", sent: false, after: total })

// --- when it goes wrong ---------------------------------------------------------------------------------------------

/** How soon a connection that failed a request is known to be over, if it is. */
const verdict = "50 millis"

const recover = <A, E>(
  hub: Hub,
  actor: ServerActor,
  ask: Ask<A, E>,
  link: Link.Link,
  error: RequestError | Errors.Overloaded,
  isRepeated: boolean
): Effect.Effect<A, Failure<E>> => {
  if (error._tag === "CallTimeout" && error.sent) return Effect.zipRight(actor.suspect(link), Effect.fail(error))
  if (isRepeated || !ask.isRepeatable) return Effect.fail(error)
  const isLost = error._tag === "OutcomeUnknown" && ask.isSafe()
  if (error._tag !== "NotSent" && !isLost) return Effect.fail(error)
  return Effect.flatMap(Effect.timeoutOption(link.session.closed, verdict), (reason) => {
    const isOver = Option.isSome(reason)
    // what a living server refuses to take, it would refuse again
    if (!isOver && !isLost) return Effect.fail(error)
    const again = attempt(hub, actor, ask, isOver ? link.generation : 0, true)
    return isLost ? Effect.catchIf(again, isUnready, () => Effect.fail(error)) : again
  })
}

/** Then it is better to know that the first try may have been executed. */
const isUnready = (error: unknown): boolean =>
  error instanceof Errors.ServerUnavailable || error instanceof Errors.ServerNotFound
