/**
 * How servers turn out that a command has started. The supervisor waits for each of them once; a command waits for all of them
 * together for ten seconds at most, and says which are late.
 */
import * as Effect from "effect/Effect"
import type { ServerNotFound } from "../../domain/Errors.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import { isSettled } from "../../domain/server/ServerStatus.js"
import type { Shape } from "../../supervision/model.js"
import { nameList } from "../words/nameList.js"

export interface FirstOutcomes {
  /** One server, as soon as it has settled. */
  readonly one: (name: string) => Effect.Effect<ServerSnapshot, ServerNotFound>
  /** All servers, to be shown. What has not settled after ten seconds is given as it is, and said to be so. */
  readonly all: Effect.Effect<ReadonlyArray<ServerSnapshot>>
  /** All servers, to find a tool by its public name: of a server that is late no tool is known. */
  readonly tools: Effect.Effect<void>
}

/** Seconds a command waits for all servers together. */
const patience = 10

export const make = (
  supervisor: Pick<Shape, "awaitOutcomes" | "server">,
  note: (line: string) => Effect.Effect<void>
): FirstOutcomes => {
  const all = (hint: string) =>
    Effect.gen(function* () {
      const outcomes = yield* supervisor.awaitOutcomes({ timeout: `${patience} seconds` })
      const late = outcomes.filter(({ status }) => !isSettled(status)).map(({ name }) => name)
      if (late.length > 0) {
        const verb = late.length === 1 ? "is" : "are"
        yield* note(`${nameList(late)} ${verb} still connecting after ${patience} s; ${hint}`)
      }
      return outcomes
    })

  return {
    one: (name) =>
      Effect.flatMap(supervisor.awaitOutcomes({ servers: [name] }), ([outcome]) =>
        outcome === undefined ? supervisor.server(name) : Effect.succeed(outcome)
      ),
    all: all("this shows what there is"),
    tools: Effect.asVoid(all("to wait for a server, call its tool as SERVER/TOOL"))
  }
}
