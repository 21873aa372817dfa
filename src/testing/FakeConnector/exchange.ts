/**
 * One request from its beginning to its end: what the server does with it, its two clocks, its progress, and what the end of
 * the session makes of it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Session from "../../connection/Session.js"
import * as Errors from "../../domain/Errors.js"
import type * as Protocol from "../../domain/Protocol.js"
import type { Fact } from "./journal.js"
import { background, change, clockTime, elicit, type Link, sample } from "./link.js"
import type { Call } from "./model.js"

export interface Request<A> {
  readonly method: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly answer: (call: Call<A>) => Effect.Effect<A, Session.RequestError>
  /** Milliseconds. */
  readonly idle: number
  readonly total: number
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** Instead of `called` and how it ended. */
  readonly fact?: Fact | undefined
  /** Runs when the request begins. */
  readonly onStart?: ((call: Call<A>) => void) | undefined
  /** Runs when the request is over. */
  readonly onDone?: ((call: Call<A>) => void) | undefined
}

type Said<A> =
  | { readonly _tag: "Progress"; readonly report: Protocol.Progress }
  | { readonly _tag: "End"; readonly exit: Exit.Exit<A, Session.RequestError> }

interface Pending<A> {
  readonly call: Call<A>
  /** What the server said, in order. */
  readonly inbox: Queue.Queue<Said<A>>
  readonly outcome: Deferred.Deferred<A, Session.RequestError>
  /** Ends the request without waiting for reports that are still being handled. */
  readonly cut: (error: Session.RequestError) => void
  readonly ended: (reason: Errors.ConnectionError) => void
  readonly fibers: Array<Fiber.RuntimeFiber<unknown, unknown>>
  /** By the clocks of the link. */
  lastSign: number
  began: number
  settled: boolean
}

export const exchange = <A>(link: Link, request: Request<A>): Effect.Effect<A, Session.RequestError> =>
  Effect.acquireUseRelease(
    begin(link, request),
    (pending) => (pending === undefined ? notSent(link) : run(link, request, pending)),
    (pending, exit) => (pending === undefined ? Effect.void : finish(link, request, pending, exit))
  )

const notSent = (link: Link) =>
  Effect.fail(new Errors.NotSent({ server: link.options.server, reason: "the connection is closed" }))

const begin = <A>(link: Link, request: Request<A>): Effect.Effect<Pending<A> | undefined> =>
  Effect.gen(function* () {
    const { server } = link.options
    const inbox = yield* Queue.unbounded<Said<A>>()
    const outcome = yield* Deferred.make<A, Session.RequestError>()

    const end = (exit: Exit.Exit<A, Session.RequestError>) =>
      Effect.sync(() => {
        if (pending.settled) return false
        pending.settled = true
        inbox.unsafeOffer({ _tag: "End", exit })
        return true
      })

    const cut = (error: Session.RequestError) => {
      pending.settled = true
      Deferred.unsafeDone(outcome, Effect.fail(error))
    }

    const call: Call<A> = {
      id: ++link.world.lastCall,
      server,
      attempt: link.number,
      method: request.method,
      name: request.name,
      args: request.args,
      meta: request.meta,
      progress: (report) =>
        Effect.clockWith((clock) =>
          Effect.sync(() => {
            if (pending.settled) return
            pending.lastSign = clockTime(link, clock.unsafeCurrentTimeMillis())
            inbox.unsafeOffer({ _tag: "Progress", report })
          })
        ),
      elicit: (question) => elicit(link, question),
      sample: (question) => sample(link, question),
      answer: (result) => end(Exit.succeed(result)),
      fail: (error) => end(Exit.fail(error))
    }

    const pending: Pending<A> = {
      call,
      inbox,
      outcome,
      cut,
      ended: (cause) => cut(new Errors.OutcomeUnknown({ server, cause })),
      fibers: [],
      lastSign: 0,
      began: 0,
      settled: false
    }

    return yield* change(link, (write, now) => {
      if (link.stage !== "open") return undefined
      pending.began = clockTime(link, now)
      pending.lastSign = pending.began
      link.onEnd.add(pending.ended)
      request.onStart?.(call)
      const { args, method, name } = request
      write(request.fact ?? { type: "called", call: call.id, method, name, args })
      return pending
    })
  })

const run = <A>(link: Link, request: Request<A>, pending: Pending<A>) =>
  Effect.gen(function* () {
    const { call, inbox, outcome } = pending
    const fork = (effect: Effect.Effect<unknown, Session.RequestError>) =>
      Effect.map(background(link, effect), (fiber) => pending.fibers.push(fiber))

    const read: Effect.Effect<void> = Effect.flatMap(Queue.take(inbox), (said) =>
      said._tag === "End"
        ? Deferred.done(outcome, said.exit)
        : Effect.zipRight(request.onProgress?.(said.report) ?? Effect.void, read)
    )
    yield* fork(Effect.catchAllCause(read, (cause) => Deferred.failCause(outcome, cause)))
    yield* fork(watch(link, request, pending))
    yield* fork(
      Effect.matchCauseEffect(request.answer(call), {
        onSuccess: call.answer,
        onFailure: (cause) =>
          Effect.sync(() => {
            if (pending.settled) return
            pending.settled = true
            inbox.unsafeOffer({ _tag: "End", exit: Exit.failCause(cause) })
          })
      })
    )
    return yield* Deferred.await(outcome)
  })

const watch = <A>(link: Link, request: Request<A>, pending: Pending<A>): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.suspend(() => {
      if (pending.settled) return Effect.void
      if (link.resumed !== undefined) {
        return Effect.zipRight(Deferred.await(link.resumed), watch(link, request, pending))
      }
      const idleAt = pending.lastSign + request.idle
      const totalAt = pending.began + request.total
      const left = Math.min(idleAt, totalAt) - clockTime(link, clock.unsafeCurrentTimeMillis())
      if (left === Number.POSITIVE_INFINITY) return Effect.void
      if (left > 0) return Effect.zipRight(Effect.sleep(left), watch(link, request, pending))
      const which = idleAt <= totalAt ? "idle" : "total"
      pending.cut(new Errors.CallTimeout({ server: link.options.server, which, sent: true, after: request[which] }))
      return Effect.void
    })
  )

const finish = <A>(
  link: Link,
  request: Request<A>,
  pending: Pending<A>,
  exit: Exit.Exit<A, Session.RequestError>
): Effect.Effect<void> =>
  Effect.zipRight(
    change(link, (write) => {
      const { call } = pending
      const cancelled = Exit.isInterrupted(exit) && !pending.settled
      pending.settled = true
      link.onEnd.delete(pending.ended)
      request.onDone?.(call)
      if (cancelled) write({ type: "cancelled", call: call.id })
      else if (request.fact === undefined) write({ type: "settled", call: call.id, outcome: outcomeOf(exit) })
    }),
    // nobody waits for them: a caller that is interrupted returns at once
    Effect.forEach(pending.fibers, Fiber.interruptFork, { discard: true })
  )

const outcomeOf = <A>(exit: Exit.Exit<A, Session.RequestError>): string =>
  Exit.match(exit, {
    onSuccess: () => "answered",
    onFailure: (cause) => {
      switch (cause._tag) {
        case "Fail":
          return cause.error._tag
        case "Interrupt":
          return "interrupted"
        default:
          return "died"
      }
    }
  })
