/**
 * What a server asks of us, answered by whoever is there to answer. Both eras end here.
 */
import type { Client, ClientCapabilities } from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Stream from "effect/Stream"
import type * as Protocol from "../domain/Protocol.js"
import type { Clocks } from "./Clocks.js"
import type { Handlers } from "./Connector.js"

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

export const make = (handlers: Handlers, clocks: Clocks) =>
  Effect.gen(function* () {
    const { elicit, roots, sample } = handlers
    const run = yield* FiberSet.makeRuntimePromise<never, unknown, never>()
    const first = yield* Deferred.make<void>()
    let current: ReadonlyArray<Protocol.Root> = []
    let changed = () => {}

    if (roots !== undefined) {
      yield* roots.pipe(
        Stream.runForEach((value) =>
          Effect.sync(() => {
            current = value
            Deferred.unsafeDone(first, Effect.void)
            changed()
          })
        ),
        Effect.interruptible,
        Effect.forkScoped
      )
    }

    /** While a person is asked, no clock runs. */
    const ask = <A>(answer: Effect.Effect<A>, signal: AbortSignal): Promise<A> => {
      const release = clocks.hold()
      return run(Effect.raceFirst(answer, untilAborted(signal))).finally(release) as Promise<A>
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
