/**
 * Runs `connect` and `restart`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { HandleEffect, SupervisorHandle } from "../../supervisor/SupervisorHandle.js"
import { isUsable, type ServerStatus } from "../../../domain/server/ServerStatus.js"
import { Screen } from "../../terminal/Screen.js"
import { statusLine } from "../../show/showServers.js"
import type { Shared } from "../../words/spec.js"
import { withRunning } from "../../supervisor/withSupervisor.js"

/** Sends a command about one server to the running supervisor, and prints the resulting status. Returns 3 unless it is usable. */
export const serverCommand = (
  input: Shared & { readonly name: string },
  doing: string,
  action: (handle: SupervisorHandle) => (name: string) => HandleEffect<ServerStatus>
) =>
  withRunning(input, (handle) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const { json, name } = input
      const status = yield* screen.busy(`${doing} ${name}`, action(handle)(name))
      const code = isUsable(status) ? 0 : 3
      if (json) return yield* Effect.as(screen.json({ [name]: status }), code)
      const snapshot = yield* handle.server(name)
      yield* screen.out(statusLine({ ...snapshot, status }, yield* Clock.currentTimeMillis))
      return code
    })
  )
