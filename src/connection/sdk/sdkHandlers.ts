/**
 * What a server asks of us, answered by whoever is there to answer. Both eras end here.
 */
import type { Client, ClientCapabilities } from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { withinBudget } from "../../system/budget.js"
import type { Clocks } from "../session/Clocks.js"
import type { Handlers } from "../Connector.js"
import { maxRequests } from "../session/ServerRequests.js"

/** A capability is there only if its handler is. */
export const capabilities = ({ elicit, roots, sample }: Handlers): ClientCapabilities => ({
  ...(elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true }, url: {} } }),
  ...(sample === undefined ? {} : { sampling: {} }),
  ...(roots === undefined ? {} : { roots: { listChanged: true } })
})

export interface Answering {
  /** Has a client answer for us. */
  readonly install: (client: Client) => void
  /** Tells the server when the roots change, for as long as it runs. */
  readonly announceRoots: (client: Client) => Effect.Effect<void>
}

/**
 * How many questions of one server are asked at the same time. Requests are limited before they get here; in the modern era
 * one answer may hold any number of questions, and a handler whose request was taken back may take its time to clean up.
 */
const maxAsked = 2 * maxRequests

/** How long a handler that is interrupted may take to clean up. */
const cleanUpBudget = "1 second"

export const make = (handlers: Handlers, clocks: Clocks): Effect.Effect<Answering, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (Object.values(handlers).every((handler) => handler === undefined)) return silent
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) =>
      Scope.close(scope, Exit.void).pipe(withinBudget(cleanUpBudget))
    )
    return yield* Scope.extend(start(handlers, clocks), scope)
  })

/** Nobody is there to answer. */
const silent: Answering = { install: () => {}, announceRoots: () => Effect.void }

const start = ({ elicit, roots, sample }: Handlers, clocks: Clocks) =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise<never, unknown, never>()
    const first = yield* Deferred.make<void>()
    let current: ReadonlyArray<Protocol.Root> = []
    let changed = () => {}
    let asked = 0

    if (roots !== undefined) {
      yield* roots.pipe(
        Stream.runForEach((value) =>
          Effect.sync(() => {
            current = value
            Deferred.unsafeDone(first, Effect.void)
            changed()
          })
        ),
        // without a word about them there are none
        Effect.ensuring(Deferred.succeed(first, undefined)),
        Effect.interruptible,
        Effect.forkScoped
      )
    }

    /** While somebody is asked, no clock runs. What goes wrong here is none of the server's business. */
    const ask = <A>(answer: Effect.Effect<A>, signal: AbortSignal): Promise<A> => {
      if (asked >= maxAsked) return Promise.reject(new Error(`more than ${maxAsked} questions at once`))
      asked += 1
      const hold = clocks.hold()
      const release = () => {
        asked -= 1
        hold()
      }
      const question = Effect.raceFirst(answer, untilAborted(signal)).pipe(
        Effect.catchAllCause(() => Effect.die(new Error("the request could not be answered")))
      )
      return run(question).finally(release) as Promise<A>
    }

    const answering: Answering = {
      install: (client) => {
        if (elicit !== undefined) {
          client.setRequestHandler(
            "elicitation/create",
            ({ params }, { mcpReq }) =>
              ask(elicit({ ...params, mode: params.mode ?? "form" } as Protocol.ElicitRequest), mcpReq.signal) as never
          )
        }
        if (sample !== undefined) {
          client.setRequestHandler(
            "sampling/createMessage",
            ({ params }, { mcpReq }) => ask(sample(params as Protocol.SampleRequest), mcpReq.signal) as never
          )
        }
        if (roots !== undefined) {
          client.setRequestHandler(
            "roots/list",
            () => run(Effect.map(Deferred.await(first), () => ({ roots: [...current] }))) as never
          )
        }
      },
      announceRoots: (client) =>
        roots === undefined
          ? Effect.void
          : Effect.async<never>(() => {
              changed = () => void client.sendRootsListChanged().catch(() => {})
              return Effect.sync(() => {
                changed = () => {}
              })
            })
    }
    return answering
  })

const untilAborted = (signal: AbortSignal): Effect.Effect<never> =>
  Effect.async<never>((resume) => {
    const abort = () => resume(Effect.interrupt)
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
