/**
 * Writes log lines about servers, such as one for each change of a status. Messages are constant; the variable parts are
 * annotations.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { ServerStatus } from "../../domain/server/ServerStatus.js"
import { faultPlace, faultText } from "../faults.js"

type Annotations = Readonly<Record<string, unknown>>

const annotated = (server: string, annotations: Annotations) =>
  Effect.annotateLogs({ "mcp.server": server, ...annotations })

export const warning = (server: string, message: string, annotations: Annotations = {}): Effect.Effect<void> =>
  annotated(server, annotations)(Effect.logWarning(message))

/** Logs a new status. A change within one status, such as the next phase of an attempt, is not logged. */
export const statusChanged = (server: string, from: ServerStatus, to: ServerStatus): Effect.Effect<void> => {
  if (from.status === to.status) return Effect.void
  const stopped =
    from.status === "connected" ? annotated(server, {})(Effect.logInfo("mcp.server.stopped")) : Effect.void
  return Effect.zipRight(stopped, entered(server, to))
}

const entered = (server: string, to: ServerStatus): Effect.Effect<void> => {
  switch (to.status) {
    case "connecting":
      return annotated(server, { attempt: to.attempt })(Effect.logDebug("mcp.server.connecting"))
    case "connected": {
      const { protocolVersion, tools, transport } = to
      return annotated(server, { transport, protocolVersion, tools })(Effect.logInfo("mcp.server.started"))
    }
    case "idle":
      return annotated(server, {})(Effect.logInfo("mcp.server.idle"))
    case "disabled":
      return annotated(server, { by: to.by })(Effect.logInfo("mcp.server.disabled"))
    case "failed": {
      const { error, errorTag, failures, gaveUp, retryAt } = to
      return warning(server, "mcp.server.failed", { error, errorTag, failures, retryAt, gaveUp })
    }
    case "needs_auth":
      return warning(server, "mcp.server.needs_auth", { reason: to.reason, hint: to.hint })
    case "needs_client_registration":
      return warning(server, "mcp.server.needs_client_registration", { error: to.error, hint: to.hint })
  }
}

/** Logs a fault that was contained. */
export const fault = (
  server: string,
  config: ServerConfig | undefined,
  cause: Cause.Cause<unknown>
): Effect.Effect<void> =>
  annotated(server, { error: faultText(config, cause), where: faultPlace(cause) })(Effect.logError("mcp.server.fault"))
