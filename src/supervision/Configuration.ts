/**
 * The set of servers, and how it changes: by a new configuration as a whole, or one by one while running.
 */
import * as Effect from "effect/Effect"
import * as Catalog from "../domain/Catalog.js"
import { InvalidConfig, ServerExists } from "../domain/Errors.js"
import type { Plan } from "../domain/Plan.js"
import * as ServerName from "../domain/ServerName.js"
import type { Actors } from "./Actors.js"
import type { Definition } from "./Definition.js"
import type { Hub } from "./Hub.js"
import { keptOf, load } from "./keptLists.js"
import type { Desired, Shape } from "./model.js"
import * as Reconciler from "./Reconciler.js"
import type { Roster } from "./Roster.js"
import type { ServerActor } from "./ServerActor.js"

export interface Configuration extends Pick<Shape, "add" | "remove" | "plan" | "reconcile"> {
  /** Starts what is configured first. */
  readonly begin: Effect.Effect<void>
}

export const make = (
  hub: Hub,
  roster: Roster,
  actors: Actors,
  first: Reconciler.Wanted
): Effect.Effect<Configuration> =>
  Effect.map(Effect.makeSemaphore(1), (applying) => {
    const { events } = hub
    let wanted = first
    let told: Reconciler.Wanted["diagnostics"] = []

    /** What is said about no server in particular. */
    const tell = () => {
      const known = new Set(told.map(({ message }) => message))
      told = wanted.diagnostics
      for (const diagnostic of told)
        if (!known.has(diagnostic.message)) events.publish({ type: "Diagnostic", diagnostic })
    }

    const running = (): ReadonlyMap<string, Definition> =>
      new Map(roster.all().map((actor) => [actor.name, actor.definition()]))

    /** Puts the servers in their order, names and filters in force, and starts who is new. */
    const arrange = (names: Iterable<string>, added: ReadonlyArray<ServerActor> = []) => {
      const fresh = new Map(added.map((actor) => [actor.name, actor]))
      roster.set(
        [...names].flatMap((name) => fresh.get(name) ?? roster.get(name) ?? []),
        wanted
      )
      added.forEach(actors.start)
    }

    /** One change at a time, and each as a whole. */
    const exclusively = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      applying.withPermits(1)(Effect.uninterruptible(change))

    const createAll = (definitions: Iterable<Definition>) =>
      Effect.forEach(definitions, actors.create, { concurrency: "unbounded" })

    // --- as a whole -------------------------------------------------------------------------------------------------

    /** The public names of tools before and after, as far as they are known. */
    const toolsOf = (changes: Reconciler.Changes, next: Reconciler.Wanted) =>
      Effect.gen(function* () {
        const after = Reconciler.apply(running(), changes)
        const others = new Set(changes.change.filter(isOther).map(({ definition }) => definition.name))
        const sources = yield* Effect.forEach(
          after.values(),
          (definition) =>
            Effect.map(foreseen(definition, others.has(definition.name)), (listings) => {
              if (listings === undefined) return []
              return [{ server: definition.name, listings, tools: definition.config?.tools ?? {} }]
            }),
          { concurrency: "unbounded" }
        )
        const merge = Catalog.merger({ configured: after.keys(), global: next.tools })
        const now = new Set(roster.catalog.current.get().tools.map(({ name }) => name))
        const then = new Set(merge(sources.flat(), 0).catalog.tools.map(({ name }) => name))
        return {
          appear: [...then].filter((name) => !now.has(name)),
          vanish: [...now].filter((name) => !then.has(name))
        }
      })

    /** What a server will list, if it comes up as it is known. */
    const foreseen = (definition: Definition, isOther: boolean) =>
      Effect.suspend(() => {
        const { config, name, settings } = definition
        if (config === undefined || settings.disabled !== undefined) return Effect.succeed(undefined)
        const actor = roster.get(name)
        if (actor?.state.get().intent === "down") return Effect.succeed(undefined)
        const known = isOther ? undefined : actor?.known()
        return known === undefined ? load(hub, name, config) : Effect.succeed(known)
      })

    const plan = (desired: Desired): Effect.Effect<Plan, InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* Reconciler.resolve(desired)
        const changes = Reconciler.compare(running(), next)
        return Reconciler.toPlan(changes, yield* toolsOf(changes, next))
      })

    const reconcile = (desired: Desired): Effect.Effect<Plan, InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* Effect.tapError(Reconciler.resolve(desired), (error) =>
          Effect.sync(() => events.publish({ type: "ConfigRejected", errors: [error] }))
        )
        const changes = Reconciler.compare(running(), next)
        const plan = Reconciler.toPlan(changes, yield* toolsOf(changes, next))
        const order = [...Reconciler.apply(running(), changes).keys()]
        const added = yield* createAll(changes.start)
        const kept = yield* Effect.forEach(changes.change, ({ definition }) => keptOf(hub, definition), {
          concurrency: "unbounded"
        })
        wanted = next
        for (const name of changes.stop) {
          const actor = roster.get(name)
          if (actor !== undefined) actors.retire(actor)
        }
        const move = ({ change, definition }: Reconciler.Changes["change"][number], index: number) =>
          roster.get(definition.name)?.tell({
            event: { _tag: "ConfigChanged", change, settings: definition.settings },
            definition: changes.taken.includes(definition.name) ? withTakeover(definition) : definition,
            kept: kept[index]
          }) ?? Effect.void
        yield* Effect.forEach(changes.change, move, { concurrency: "unbounded", discard: true })
        // what is said about an entry may have changed where the entry means the same
        const moved = new Set([...changes.change.map(({ definition }) => definition.name), ...plan.start])
        const remark = (definition: Definition) =>
          moved.has(definition.name) ? Effect.void : (roster.get(definition.name)?.tell({ definition }) ?? Effect.void)
        yield* Effect.forEach(changes.configured, remark, { concurrency: "unbounded", discard: true })
        arrange(order, added)
        tell()
        events.publish({ type: "ConfigApplied", plan })
        return plan
      })

    // --- one by one -------------------------------------------------------------------------------------------------

    const add: Shape["add"] = (name, config) =>
      Effect.gen(function* () {
        const issues = ServerName.issues(name)
        if (issues.length > 0) return yield* new InvalidConfig({ server: name, issues })
        const definition = yield* Reconciler.define(name, config, wanted.defaults)
        if (roster.get(name) !== undefined) return yield* new ServerExists({ server: name })
        const actor = yield* actors.create(definition)
        arrange([...running().keys(), name], [actor])
      })

    const remove = (name: string) =>
      Effect.suspend(() => {
        const actor = roster.get(name)
        if (actor === undefined) return Effect.fail(roster.notFound(name))
        actors.retire(actor)
        arrange([...running().keys()].filter((other) => other !== name))
        return Effect.succeed(actors.gone(actor))
      })

    return {
      begin: Effect.map(createAll(first.definitions.values()), (added) => {
        arrange(first.definitions.keys(), added)
        tell()
      }),
      plan,
      reconcile: (desired) => exclusively(reconcile(desired)),
      add: (name, config) => exclusively(add(name, config)),
      remove: (name) => Effect.flatten(exclusively(remove(name)))
    }
  })

/** Whether what it listed says nothing about what it will list. */
const isOther = ({ change }: Reconciler.Changes["change"][number]): boolean => change === "identity"

const withTakeover = (definition: Definition): Definition => ({
  ...definition,
  diagnostics: [
    ...definition.diagnostics,
    {
      severity: "warning",
      code: "name_taken",
      message: "the configuration has taken over this name from a server that was added while running"
    }
  ]
})
