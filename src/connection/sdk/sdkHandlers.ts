/**
 * Passes requests of a server (elicitation, sampling, roots) to the handlers of the client, in both eras.
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

/** The capabilities of the client: one for each handler that is present. */
export const capabilities = ({ elicit, roots, sample }: Handlers): ClientCapabilities => ({
  ...(elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true }, url: {} } }),
  ...(sample === undefined ? {} : { sampling: {} }),
  ...(roots === undefined ? {} : { roots: { listChanged: true } })
})

export interface Answering {
  /** Registers the handlers with a client. */
  readonly install: (client: Client) => void
  /** Notifies the server when the roots change, until interrupted. */
  readonly announceRoots: (client: Client) => Effect.Effect<void>
}

/**
 * The maximum number of concurrent questions of one server. Requests are limited before they arrive here; but in the modern era
 * one response may hold any number of questions, and a cancelled handler may take time to clean up.
 */
const maxQuestions = 2 * maxRequests

/** The time an interrupted handler has to clean up. */
const cleanUpBudget = "1 second"

export const make = (handlers: Handlers, clocks: Clocks): Effect.Effect<Answering, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (Object.values(handlers).every((handler) => handler === undefined)) return noHandlers
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) =>
      Scope.close(scope, Exit.void).pipe(withinBudget(cleanUpBudget))
    )
    return yield* Scope.extend(start(handlers, clocks), scope)
  })

/** Used without handlers. */
const noHandlers: Answering = { install: () => {}, announceRoots: () => Effect.void }

const start = ({ elicit, roots, sample }: Handlers, clocks: Clocks) =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise<never, unknown, never>()
    const firstRoots = yield* Deferred.make<void>()
    let current: ReadonlyArray<Protocol.Root> = []
    let changed = () => {}
    let openQuestions = 0

    if (roots !== undefined) {
      yield* roots.pipe(
        Stream.runForEach((value) =>
          Effect.sync(() => {
            current = value
            Deferred.unsafeDone(firstRoots, Effect.void)
            changed()
          })
        ),
        // If the stream ends without a value, there are no roots.
        Effect.ensuring(Deferred.succeed(firstRoots, undefined)),
        Effect.interruptible,
        Effect.forkScoped
      )
    }

    /** Runs a handler. All clocks are held meanwhile. The server receives no details of a failure. */
    const ask = <A>(answer: Effect.Effect<A>, signal: AbortSignal): Promise<A> => {
      if (openQuestions >= maxQuestions) return Promise.reject(new Error(`more than ${maxQuestions} questions at once`))
      openQuestions += 1
      const hold = clocks.hold()
      const release = () => {
        openQuestions -= 1
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
            () => run(Effect.map(Deferred.await(firstRoots), () => ({ roots: [...current] }))) as never
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
