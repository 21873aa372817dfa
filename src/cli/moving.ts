/**
 * What `connect` and `restart` have in common.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Do, Reach } from "./Reach.js"
import type { ServerStatus } from "../domain/ServerStatus.js"
import { Screen } from "./Screen.js"
import { isUsable, statusLine } from "./show/servers.js"
import type { Shared } from "./spec.js"
import { withRunning } from "./withSupervisor.js"

/** Has the running supervisor do something with a server, and shows what became of it. The exit code is 3 if that is no use. */
export const moving = (
  input: Shared & { readonly name: string },
  doing: string,
  move: (reach: Reach) => (name: string) => Do<ServerStatus>
) =>
  withRunning(input, (reach) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const { json, name } = input
      const status = yield* screen.busy(`${doing} ${name}`, move(reach)(name))
      const code = isUsable(status) ? 0 : 3
      if (json) return yield* Effect.as(screen.json({ [name]: status }), code)
      const snapshot = yield* reach.server(name)
      yield* screen.out(statusLine({ ...snapshot, status }, yield* Clock.currentTimeMillis))
      return code
    })
  )
