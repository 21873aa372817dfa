/**
 * Implements `McpAuth` for the servers of a supervisor: checks trust and connects a server after its login.
 */
import * as Effect from "effect/Effect"
import type { Logins } from "../../auth/login/Logins.js"
import { keyOf, type LoginTarget, requireTarget } from "../../auth/login/LoginTarget.js"
import type { AuthShape, LoginStatus } from "../../auth/McpAuth.js"
import { AuthError, type ServerNotFound } from "../../domain/Errors.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { ServerStatus } from "../../domain/server/ServerStatus.js"
import type { ServerActor } from "../actor/ServerActor.js"
import { traced } from "../calls/trace.js"
import type { ServerRegistry } from "./ServerRegistry.js"
import { settledStatus } from "./settledStatus.js"

export const make = (
  logins: Logins,
  registry: ServerRegistry,
  find: (name: string) => Effect.Effect<ServerActor, ServerNotFound>
): AuthShape => {
  /** Connects a server after a login, unless it is disabled. */
  const afterLogin = Effect.fnUntraced(function* (name: string): Effect.fn.Return<ServerStatus, ServerNotFound> {
    const actor = yield* find(name)
    // When this message is handled, the actor has also handled the change of credentials.
    yield* actor.tell({})
    const { status } = Lifecycle.status(actor.state.get())
    const isStuck = status === "failed" || status === "needs_client_registration"
    if (isStuck) yield* actor.tell({ event: { _tag: "Connect" } })
    return yield* settledStatus(registry, actor)
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

  /** Runs a login. Rejects it at an untrusted server: no request may be sent to its address. */
  const loggingIn = <A>(
    method: string,
    name: string,
    login: (target: LoginTarget) => Effect.Effect<A, AuthError | ServerNotFound>
  ): Effect.Effect<A, AuthError | ServerNotFound> =>
    named(method, name, (config): Effect.Effect<A, AuthError | ServerNotFound> => {
      if (registry.definition(name)?.settings.disabled !== "trust") {
        return Effect.flatMap(requireTarget(name, config), login)
      }
      const detail = "its project file is not trusted; look at it, then: mcp-supervisor trust"
      return Effect.fail(new AuthError({ server: name, reason: "not_trusted", detail }))
    })

  return {
    login: (name) => loggingIn("login", name, (target) => Effect.zipRight(logins.login(target), afterLogin(name))),
    startLogin: (name) => loggingIn("startLogin", name, logins.start),
    finishLogin: (name, callback) =>
      loggingIn("finishLogin", name, (target) => Effect.zipRight(logins.finish(target, callback), afterLogin(name))),
    // Also if the config allows no login any longer: stored tokens are still deleted.
    logout: (name) =>
      named("logout", name, (config) => {
        const key = keyOf(name, config)
        return key === undefined ? Effect.void : logins.logout(key)
      }),
    status: (name) =>
      named("status", name, (config) =>
        Effect.flatMap(requireTarget(name, config), logins.status).pipe(
          Effect.orElseSucceed((): LoginStatus => "not_authenticated")
        )
      )
  }
}
