/**
 * The actors of one supervisor: how they begin, how they leave, and how all of them end.
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
  /** A server that does nothing yet. One that is disabled or not trusted is its definition, and nothing else. */
  readonly create: (definition: Definition) => Effect.Effect<Member>
  readonly start: (member: Member) => void
  /** The actor of a server, made now if the server was inactive so far. None, if there is no such server. */
  readonly find: (name: string) => Effect.Effect<ServerActor.ServerActor | undefined>
  /** Sends it away. What is left of it ends by itself. */
  readonly retire: (name: string) => void
  /** Ends when nothing of it is left. */
  readonly gone: (actor: ServerActor.ServerActor) => Effect.Effect<void>
}

/** Everything is over by then, whatever hangs. */
const shutdownBudget = "5 seconds"

/** They end with the scope. */
export const make = (context: SupervisorContext, registry: ServerRegistry): Effect.Effect<Actors, never, Scope.Scope> =>
  Effect.gen(function* () {
    const life = yield* Effect.acquireRelease(Scope.make(), (life) =>
      withinBudget(shutdownBudget)(Scope.close(life, Exit.void))
    )
    const fibers = yield* Scope.extend(FiberMap.make<symbol>(), life)
    /** Removed servers of which something is left, by name. */
    const leaving = new Map<string, Set<ServerActor.ServerActor>>()

    const gone = ({ state }: ServerActor.ServerActor): Effect.Effect<void> =>
      Effect.ignore(state.until(() => undefined))

    /** A new server does not meet those that had its name before. */
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
          // its lists were read meanwhile: it may have another definition or an actor by now, or be gone
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
        context.fork(context.auth.abandon(name))
        context.events.publish({ type: "ServerRemoved", server: name })
      },
      gone
    }
  })
