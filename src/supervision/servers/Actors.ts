/**
 * Creates, starts, removes and shuts down the actors of one supervisor.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Scope from "effect/Scope"
import { withinBudget } from "../../system/budget.js"
import { type Definition, isInactive } from "./Definition.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import { cachedListingsOf } from "../catalog/cachedListings.js"
import type { Member, ServerRegistry } from "./ServerRegistry.js"
import * as ServerActor from "../actor/ServerActor.js"

export interface Actors {
  /** Creates a server without starting it. A disabled or untrusted server gets no actor, only its definition. */
  readonly create: (definition: Definition) => Effect.Effect<Member>
  readonly start: (member: Member) => void
  /**
   * Returns the actor of a server and creates it if the server was inactive. `undefined` if the server does not exist.
   */
  readonly find: (name: string) => Effect.Effect<ServerActor.ServerActor | undefined>
  /** Removes a server. Its links are closed in the background. */
  readonly retire: (name: string) => void
  /** Returns when all links of the server are released. */
  readonly gone: (actor: ServerActor.ServerActor) => Effect.Effect<void>
}

/** Shutdown ends after this time, even if a server hangs. */
const shutdownBudget = "5 seconds"

/** The actors end with the scope. */
export const make = (context: SupervisorContext, registry: ServerRegistry): Effect.Effect<Actors, never, Scope.Scope> =>
  Effect.gen(function* () {
    const life = yield* Effect.acquireRelease(Scope.make(), (life) =>
      withinBudget(shutdownBudget)(Scope.close(life, Exit.void))
    )
    const fibers = yield* Scope.extend(FiberMap.make<symbol>(), life)
    /** Removed servers with links that are not yet released, by name. */
    const leaving = new Map<string, Set<ServerActor.ServerActor>>()

    const gone = ({ state }: ServerActor.ServerActor): Effect.Effect<void> =>
      Effect.ignore(state.until(() => undefined))

    /** A new server waits until all removed servers of its name are released. */
    const ready = (name: string) =>
      Effect.suspend(() => Effect.forEach(leaving.get(name) ?? [], gone, { discard: true }))

    const left = (actor: ServerActor.ServerActor) =>
      Effect.sync(() => {
        const { name } = actor
        const others = leaving.get(name)
        others?.delete(actor)
        if (others?.size === 0) leaving.delete(name)
      })

    const make = (definition: Definition) =>
      Effect.flatMap(cachedListingsOf(context, definition), (kept) =>
        ServerActor.make(context, { definition, kept, ready: ready(definition.name), onChange: registry.changed })
      )

    const run = (actor: ServerActor.ServerActor) =>
      FiberMap.unsafeSet(fibers, Symbol(actor.name), context.fork(Effect.ensuring(actor.run, left(actor))))

    const find: Actors["find"] = (name) =>
      Effect.suspend(() => {
        const definition = registry.inactive(name)
        if (definition === undefined) return Effect.succeed(registry.get(name))
        return Effect.flatMap(make(definition), (actor) => {
          // The listings were loaded in the meantime: the server may have another definition, or an actor, or be
          // removed.
          if (registry.inactive(name) !== definition) return find(name)
          registry.activate(actor)
          run(actor)
          return Effect.succeed(actor)
        })
      })

    return {
      create: (definition) => (isInactive(definition) ? Effect.succeed(definition) : make(definition)),
      start: (member) => {
        context.events.publish({ type: "ServerAdded", server: member.name })
        if ("run" in member) run(member)
      },
      find,
      retire: (name) => {
        const actor = registry.get(name)
        if (actor !== undefined) {
          leaving.set(name, (leaving.get(name) ?? new Set()).add(actor))
          actor.send({ _tag: "Remove" })
        }
        context.fork(context.auth.logins.abandon(name))
        context.events.publish({ type: "ServerRemoved", server: name })
      },
      gone
    }
  })
