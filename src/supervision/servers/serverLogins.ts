/**
 * Implements `McpAuth` for the servers of a supervisor: checks trust and connects a server after its login.
 */
import * as Effect from "effect/Effect"
import type { Auth } from "../../auth/Auth.js"
import type { AuthShape } from "../../auth/McpAuth.js"
import { AuthError, type ServerNotFound } from "../../domain/Errors.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import * as ServerStatus from "../../domain/server/ServerStatus.js"
import type { ServerRegistry } from "./ServerRegistry.js"
import type { ServerActor } from "../actor/ServerActor.js"
import { traced } from "../calls/trace.js"

export const make = (
  auth: Auth,
  registry: ServerRegistry,
  find: (name: string) => Effect.Effect<ServerActor, ServerNotFound>
): AuthShape => {
  /** Connects a server after a login, unless it is disabled. */
  const afterLogin = (actor: ServerActor): Effect.Effect<ServerStatus.ServerStatus, ServerNotFound> =>
    Effect.gen(function* () {
      // When this message is handled, the actor has also handled the change of credentials.
      yield* actor.tell({})
      const { status } = Lifecycle.status(actor.state.get())
      const isStuck = status === "failed" || status === "needs_client_registration"
      if (isStuck) yield* actor.tell({ event: { _tag: "Connect" } })
      return yield* Effect.mapError(
        actor.state.until((state) => {
          const status = Lifecycle.status(state)
          return ServerStatus.isSettled(status) ? status : undefined
        }),
        () => registry.notFound(actor.name)
      )
    })

  /** Runs a method for a server by name. It needs no actor: only a completed login affects the server itself. */
  const named = <A, E>(
    method: string,
    name: string,
    run: (config: ServerConfig | undefined) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ServerNotFound> =>
    traced(`McpAuth.${method}`, { "mcp.server": name }, (): Effect.Effect<A, E | ServerNotFound> => {
      const definition = registry.definition(name)
      return definition === undefined ? Effect.fail(registry.notFound(name)) : run(definition.config)
    })

  /** Rejects a login at an untrusted server: no request may be sent to its address. */
  const trusted = <A, E>(name: string, login: Effect.Effect<A, E>): Effect.Effect<A, E | AuthError> =>
    Effect.suspend((): Effect.Effect<A, E | AuthError> => {
      if (registry.definition(name)?.settings.disabled !== "trust") return login
      const detail = "its project file is not trusted; look at it, then: mcp-supervisor trust"
      return Effect.fail(new AuthError({ server: name, reason: "not_trusted", detail }))
    })

  const finishing = (name: string, login: Effect.Effect<void, AuthError>) =>
    Effect.flatMap(Effect.zipRight(trusted(name, login), find(name)), afterLogin)

  return {
    login: (name) => named("login", name, (config) => finishing(name, auth.login(name, config))),
    startLogin: (name) => named("startLogin", name, (config) => trusted(name, auth.startLogin(name, config))),
    finishLogin: (name, callback) =>
      named("finishLogin", name, (config) => finishing(name, auth.finishLogin(name, config, callback))),
    logout: (name) => named("logout", name, (config) => auth.logout(name, config)),
    status: (name) => named("status", name, (config) => auth.status(name, config))
  }
}
