/**
 * Runs one request of a fake session, with its response, timeouts and progress, until the session ends.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import { requestFailure } from "../../connection/session/results.js"
import type * as Session from "../../connection/Session.js"
import { WireFailure } from "../../connection/wire/Wire.js"
import * as Errors from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { Fact } from "./journal.js"
import { background, change, clockTime, elicit, type FakeLink, sample } from "./link.js"
import type { Call } from "./model.js"

export interface FakeRequest<A> {
  readonly method: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly answer: (call: Call<A>) => Effect.Effect<A, Session.RequestError>
  /** Milliseconds. */
  readonly idle: number
  readonly total: number
  readonly onProgress?: ((progress: Protocol.Progress) => Effect.Effect<void>) | undefined
  /** Recorded instead of `called` and `settled`. */
  readonly fact?: Fact | undefined
  /** Runs at the start of the request. */
  readonly onStart?: ((call: Call<A>) => void) | undefined
  /** Runs at the end of the request. */
  readonly onDone?: ((call: Call<A>) => void) | undefined
}

interface Pending<A> {
  readonly call: Call<A>
  /** The progress reports that wait for the handler, in order. */
  readonly reports: Mailbox.Mailbox<Protocol.Progress>
  readonly outcome: Deferred.Deferred<A, Session.RequestError>
  /** Settles the request. Returns false if it is already settled. */
  readonly end: (exit: Exit.Exit<A, Session.RequestError>) => boolean
  readonly ended: (reason: Errors.ConnectionError) => void
  readonly fibers: Array<Fiber.RuntimeFiber<unknown, unknown>>
  /** The time of the last sign of life and of the start, by the clocks of the link. */
  lastSign: number
  began: number
  settled: boolean
}

export const exchange = <A>(link: FakeLink, request: FakeRequest<A>): Effect.Effect<A, Session.RequestError> =>
  Effect.acquireUseRelease(
    begin(link, request),
    (pending) => (pending === undefined ? notSent(link) : run(link, request, pending)),
    (pending, exit) => (pending === undefined ? Effect.void : finish(link, request, pending, exit))
  )

const notSent = (link: FakeLink) =>
  Effect.suspend(() => {
    const { server } = link.options
    const reason = link.reason ?? new Errors.ConnectionClosed({ server })
    return Effect.fail(requestFailure(server, new WireFailure(reason, "unsent")))
  })

const begin = <A>(link: FakeLink, request: FakeRequest<A>): Effect.Effect<Pending<A> | undefined> =>
  Effect.gen(function* () {
    const { server } = link.options
    const reports = yield* Mailbox.make<Protocol.Progress>({ capacity: maxReports, strategy: "sliding" })
    const outcome = yield* Deferred.make<A, Session.RequestError>()

    const end = (exit: Exit.Exit<A, Session.RequestError>) => {
      if (pending.settled) return false
      pending.settled = true
      Deferred.unsafeDone(outcome, exit)
      return true
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
            reports.unsafeOffer(report)
          })
        ),
      elicit: (question) => elicit(link, question),
      sample: (question) => sample(link, question),
      answer: (result) => Effect.sync(() => end(Exit.succeed(result))),
      fail: (error) => Effect.sync(() => end(Exit.fail(error)))
    }

    const pending: Pending<A> = {
      call,
      reports,
      outcome,
      end,
      ended: (cause) => void end(Exit.fail(new Errors.OutcomeUnknown({ server, cause }))),
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

const run = <A>(link: FakeLink, request: FakeRequest<A>, pending: Pending<A>) =>
  Effect.gen(function* () {
    const { call, outcome, reports } = pending
    const { onProgress } = request
    const fork = <B, E>(effect: Effect.Effect<B, E>) =>
      Effect.tap(background(link, effect), (fiber) => Effect.sync(() => pending.fibers.push(fiber)))

    const reader = onProgress === undefined ? undefined : yield* fork(handle(reports, onProgress))
    yield* fork(watch(link, request, pending))
    yield* fork(Effect.map(Effect.exit(request.answer(call)), pending.end))
    const exit = yield* Effect.exit(Deferred.await(outcome))
    yield* reports.end
    // A failure does not wait for the progress handler; a success waits at most the idle limit.
    if (Exit.isSuccess(exit) && reader !== undefined) yield* Effect.timeoutOption(Fiber.await(reader), request.idle)
    return yield* exit
  })

/** The maximum number of waiting progress reports. If a server reports faster than the handler runs, the oldest are dropped. */
const maxReports = 256

/** Runs the progress handler, one report at a time. Its failure is logged and affects nothing else. */
const handle = (
  reports: Mailbox.ReadonlyMailbox<Protocol.Progress>,
  onProgress: (progress: Protocol.Progress) => Effect.Effect<void>
): Effect.Effect<void> =>
  reports.take.pipe(
    Effect.flatMap((progress) =>
      Effect.catchAllCause(onProgress(progress), (cause) => Effect.logWarning("mcp.progress.failed", cause))
    ),
    Effect.forever,
    Effect.catchTag("NoSuchElementException", () => Effect.void)
  )

const watch = <A>(link: FakeLink, request: FakeRequest<A>, pending: Pending<A>): Effect.Effect<void> =>
  Effect.clockWith((clock) =>
    Effect.suspend(() => {
      if (pending.settled) return Effect.void
      if (link.resumed !== undefined) {
        return Effect.zipRight(Deferred.await(link.resumed), watch(link, request, pending))
      }
      const idleAt = pending.lastSign + request.idle
      const totalAt = pending.began + request.total
      const now = clockTime(link, clock.unsafeCurrentTimeMillis())
      const left = Math.min(idleAt, totalAt) - now
      if (left === Number.POSITIVE_INFINITY) return Effect.void
      if (left > 0) return Effect.zipRight(Effect.sleep(left), watch(link, request, pending))
      const which = totalAt <= now ? "total" : "idle"
      const { server } = link.options
      pending.end(Exit.fail(new Errors.CallTimeout({ server, which, sent: true, after: request[which] })))
      return Effect.void
    })
  )

const finish = <A>(
  link: FakeLink,
  request: FakeRequest<A>,
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
    // Not awaited: an interrupted caller returns immediately.
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
