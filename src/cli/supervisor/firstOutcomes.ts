/**
 * Waits for the first outcome of the servers that a command has started. Waiting for all servers takes at most ten seconds;
 * the command then names those that are still connecting.
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
  /** All servers, to be shown. A server that has not settled after ten seconds is returned as `connecting`, with a note. */
  readonly all: Effect.Effect<ReadonlyArray<ServerSnapshot>>
  /** Waits for all servers, to find a tool by its public name. The tools of a server that has not settled are unknown. */
  readonly tools: Effect.Effect<void>
}

const timeoutSeconds = 10

export const make = (
  supervisor: Pick<Shape, "awaitOutcomes" | "server">,
  note: (line: string) => Effect.Effect<void>
): FirstOutcomes => {
  const all = (hint: string) =>
    Effect.gen(function* () {
      const outcomes = yield* supervisor.awaitOutcomes({ timeout: `${timeoutSeconds} seconds` })
      const late = outcomes.filter(({ status }) => !isSettled(status)).map(({ name }) => name)
      if (late.length > 0) {
        const verb = late.length === 1 ? "is" : "are"
        yield* note(`${nameList(late)} ${verb} still connecting after ${timeoutSeconds} s; ${hint}`)
      }
      return outcomes
    })

  return {
    one: (name) =>
      Effect.flatMap(supervisor.awaitOutcomes({ servers: [name] }), ([outcome]) =>
        outcome === undefined ? supervisor.server(name) : Effect.succeed(outcome)
      ),
    all: all("the list shows their current status"),
    tools: Effect.asVoid(all("to wait for a server, call its tool as SERVER/TOOL"))
  }
}
