/**
 * Waits until a server has settled, after a command or a login.
 */
import * as Effect from "effect/Effect"
import type { ServerNotFound } from "../../domain/Errors.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"
import type { ServerActor } from "../actor/ServerActor.js"
import type { ServerRegistry } from "./ServerRegistry.js"

/** Returns the first status that is not `connecting`. Fails if the server is removed before. */
export const settledStatus = (
  registry: ServerRegistry,
  actor: ServerActor
): Effect.Effect<ServerStatus.ServerStatus, ServerNotFound> =>
  Effect.mapError(
    actor.until((state) => {
      const status = Lifecycle.status(state)
      return ServerStatus.isSettled(status) ? status : undefined
    }),
    () => registry.notFound(actor.name)
  )
