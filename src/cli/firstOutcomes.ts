/**
 * How servers turn out that a command has started: each is waited for until it has settled once. One that fails and is tried
 * again is not waited for again.
 */
import * as Effect from "effect/Effect"
import type { ServerNotFound } from "../domain/Errors.js"
import type { ServerSnapshot } from "../domain/ServerSnapshot.js"
import { isSettled } from "../domain/ServerStatus.js"
import type { Shape } from "../supervision/model.js"
import { some } from "./some.js"

export interface FirstOutcomes {
  /** One server, as soon as it has settled. */
  readonly one: (name: string) => Effect.Effect<ServerSnapshot, ServerNotFound>
  /** Ends when each has settled, however long that takes. */
  readonly every: Effect.Effect<void>
  /** All servers. What has not settled after ten seconds is shown as it is, and said to be so. */
  readonly all: Effect.Effect<ReadonlyArray<ServerSnapshot>>
}

/** Seconds a command waits for all servers together. */
const patience = 10

export const make = (
  supervisor: Pick<Shape, "awaitSettled" | "server" | "servers">,
  note: (line: string) => Effect.Effect<void>
): FirstOutcomes => {
  /** The last settled snapshot of each. */
  const outcomes = new Map<string, ServerSnapshot>()

  const one: FirstOutcomes["one"] = (name) =>
    Effect.gen(function* () {
      // one that is required and failed has settled, too
      const failed = yield* Effect.matchEffect(supervisor.awaitSettled({ servers: [name] }), {
        onFailure: ({ servers }) => Effect.succeed(servers[0].status),
        onSuccess: ([settled]) => Effect.succeed(settled?.status)
      })
      const now = yield* supervisor.server(name)
      const outcome = isSettled(now.status) || failed === undefined ? now : { ...now, status: failed }
      outcomes.set(name, outcome)
      return outcome
    })

  const every = Effect.gen(function* () {
    const connecting = (yield* supervisor.servers).filter(({ status }) => !isSettled(status))
    yield* Effect.forEach(connecting, ({ name }) => Effect.ignore(one(name)), {
      concurrency: "unbounded",
      discard: true
    })
  })

  const all = Effect.gen(function* () {
    yield* Effect.timeoutOption(every, `${patience} seconds`)
    const shown = (yield* supervisor.servers).map((now) =>
      isSettled(now.status) ? now : (outcomes.get(now.name) ?? now)
    )
    const late = shown.filter(({ status }) => !isSettled(status)).map(({ name }) => name)
    if (late.length > 0) {
      const verb = late.length === 1 ? "is" : "are"
      yield* note(`${some(late)} ${verb} still connecting after ${patience} s; this shows what there is`)
    }
    return shown
  })

  return { one, every, all }
}
