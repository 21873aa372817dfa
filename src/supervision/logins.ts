/**
 * Logins, as the servers see them: who is to be connected after one, and what is said of it.
 */
import * as Effect from "effect/Effect"
import type { Auth } from "../auth/Auth.js"
import type { AuthShape } from "../auth/McpAuth.js"
import type { AuthError, ServerNotFound } from "../domain/Errors.js"
import * as Lifecycle from "../domain/Lifecycle.js"
import * as ServerStatus from "../domain/ServerStatus.js"
import type { Roster } from "./Roster.js"
import type { ServerActor } from "./ServerActor.js"
import { traced } from "./trace.js"

export const make = (
  auth: Auth,
  roster: Roster,
  find: (name: string) => Effect.Effect<ServerActor, ServerNotFound>
): AuthShape => {
  /** Somebody who logs in wants the server, unless he has switched it off. */
  const afterLogin = (actor: ServerActor): Effect.Effect<ServerStatus.ServerStatus, ServerNotFound> =>
    Effect.gen(function* () {
      // by then it has heard of the login
      yield* actor.tell({})
      const { status } = Lifecycle.status(actor.state.get())
      const isStuck = status === "failed" || status === "needs_client_registration"
      if (isStuck) yield* actor.tell({ event: { _tag: "Connect" } })
      return yield* Effect.mapError(
        actor.state.until((state) => {
          const status = Lifecycle.status(state)
          return ServerStatus.isSettled(status) ? status : undefined
        }),
        () => roster.notFound(actor.name)
      )
    })

  const config = (actor: ServerActor) => actor.definition().config

  const named = <A, E>(
    method: string,
    name: string,
    run: (actor: ServerActor) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ServerNotFound> =>
    traced(`McpAuth.${method}`, { "mcp.server": name }, () => Effect.flatMap(find(name), run))

  const finishing = (actor: ServerActor, login: Effect.Effect<void, AuthError>) =>
    Effect.zipRight(login, afterLogin(actor))

  return {
    login: (name) => named("login", name, (actor) => finishing(actor, auth.login(name, config(actor)))),
    startLogin: (name) => named("startLogin", name, (actor) => auth.startLogin(name, config(actor))),
    finishLogin: (name, callback) =>
      named("finishLogin", name, (actor) => finishing(actor, auth.finishLogin(name, config(actor), callback))),
    logout: (name) => named("logout", name, (actor) => auth.logout(name, config(actor))),
    status: (name) => named("status", name, (actor) => auth.status(name, config(actor)))
  }
}
