/**
 * Changes the set of servers: by a new config as a whole, or one by one at run time.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Catalog from "../../domain/catalog/Catalog.js"
import { InvalidConfig, ServerExists } from "../../domain/Errors.js"
import type { Plan } from "../../domain/server/Plan.js"
import * as ServerName from "../../domain/server/ServerName.js"
import type { Actors } from "./Actors.js"
import { type Definition, isInactive } from "./Definition.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import type { ActorMessage } from "../actor/Inbox.js"
import { cachedListingsOf, load } from "../catalog/cachedListings.js"
import type { ConfigUpdate, Desired, Shape } from "../model.js"
import * as DecodeConfig from "./decodeConfig.js"
import * as Reconciler from "./Reconciler.js"
import type { Member, ServerRegistry } from "./ServerRegistry.js"

export interface Configuration extends Pick<Shape, "add" | "remove" | "plan" | "reconcile"> {
  /** Starts the servers of the initial config. */
  readonly begin: Effect.Effect<void>
}

export const make = (
  context: SupervisorContext,
  registry: ServerRegistry,
  actors: Actors,
  first: DecodeConfig.DecodedConfig
): Effect.Effect<Configuration> =>
  Effect.map(Effect.makeSemaphore(1), (applying) => {
    const { events } = context
    let current = first
    let published: DecodeConfig.DecodedConfig["diagnostics"] = []

    /** Publishes new diagnostics that concern no single server. */
    const publishDiagnostics = () => {
      const before = new Set(published.map(({ message }) => message))
      published = current.diagnostics
      for (const diagnostic of published)
        if (!before.has(diagnostic.message)) events.publish({ type: "Diagnostic", diagnostic })
    }

    const running = registry.definitions

    /** Sets the order of the servers, the rules for names and the filters, and starts the added servers. */
    const arrange = (names: Iterable<string>, added: ReadonlyArray<Member>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const fresh = new Map(added.map((member) => [member.name, member]))
        registry.set(
          [...names].flatMap((name) => fresh.get(name) ?? registry.get(name) ?? registry.inactive(name) ?? []),
          current
        )
        // In single steps, between which the scheduler may yield to the event loop: a started actor runs until its
        // first wait.
        return Effect.forEach(added, (member) => Effect.sync(() => actors.start(member)), { discard: true })
      })

    /** Applies one change at a time, without interruption. */
    const exclusively = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      applying.withPermits(1)(Effect.uninterruptible(change))

    /** Inactive servers are not created in fibers: only actors load listings. */
    const createAll = (definitions: ReadonlyArray<Definition>) =>
      Effect.gen(function* () {
        const active = definitions.filter((definition) => !isInactive(definition))
        const created = yield* Effect.forEach(active, actors.create, { concurrency: "unbounded" })
        const byName = new Map<string, Member>(created.map((member) => [member.name, member]))
        return definitions.map((definition): Member => byName.get(definition.name) ?? definition)
      })

    // --- as a whole -------------------------------------------------------------------------------------------------

    /** The public tool names that appear and vanish, as far as the listings are known. */
    const toolsOf = (changes: Reconciler.Changes, next: DecodeConfig.DecodedConfig) =>
      Effect.gen(function* () {
        const after = Reconciler.apply(running(), changes)
        const others = new Set(changes.change.filter(isOther).map(({ definition }) => definition.name))
        const sources = yield* Effect.forEach(
          Array.from(after.values()).filter((definition) => !isInactive(definition)),
          (definition) =>
            Effect.map(foreseen(definition, others.has(definition.name)), (listings) => {
              if (listings === undefined) return []
              return [{ server: definition.name, listings, tools: definition.config?.tools ?? {} }]
            }),
          { concurrency: "unbounded" }
        )
        const merge = Catalog.merger({ configured: after.keys(), global: next.tools })
        const now = new Set(registry.catalog.current.get().tools.map(({ name }) => name))
        const then = new Set(merge(sources.flat(), 0).catalog.tools.map(({ name }) => name))
        return {
          appear: [...then].filter((name) => !now.has(name)),
          vanish: [...now].filter((name) => !then.has(name))
        }
      })

    /** The listings that a server is expected to have under a new definition: those of its actor, or stored ones. */
    const foreseen = (definition: Definition, isOther: boolean) =>
      Effect.suspend(() => {
        const { config, name } = definition
        if (config === undefined) return Effect.succeed(undefined)
        const actor = registry.get(name)
        if (actor?.state.get().intent === "down") return Effect.succeed(undefined)
        const known = isOther ? undefined : actor?.known()
        return known === undefined ? load(context, name, config) : Effect.succeed(known)
      })

    /** Changes the definition of a server. A server that was inactive and stays inactive needs no actor for it. */
    const apply = (definition: Definition, message: Omit<ActorMessage, "definition"> = {}): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (staysInactive(definition)) return Effect.sync(() => registry.redefine(definition))
        return Effect.flatMap(
          actors.find(definition.name),
          (actor) => actor?.tell({ ...message, definition }) ?? Effect.void
        )
      })

    /** Runs `f` concurrently for servers with an actor. Servers that stay inactive need no fiber. */
    const forAll = <A>(
      all: ReadonlyArray<A>,
      definitionOf: (each: A) => Definition,
      f: (each: A) => Effect.Effect<void>
    ) => {
      const [active, inactive] = Arr.partition(all, (each) => staysInactive(definitionOf(each)))
      return Effect.zipRight(
        Effect.forEach(inactive, (each) => f(each), { discard: true }),
        Effect.forEach(active, (each) => f(each), { concurrency: "unbounded", discard: true })
      )
    }

    const staysInactive = (definition: Definition) =>
      registry.inactive(definition.name) !== undefined && isInactive(definition)

    /** The stored listings of servers, by name. */
    const allCachedListings = (definitions: ReadonlyArray<Definition>) =>
      Effect.map(
        Effect.forEach(
          definitions.filter((definition) => !staysInactive(definition)),
          (definition) =>
            Effect.map(cachedListingsOf(context, definition), (listings) => [definition.name, listings] as const),
          { concurrency: "unbounded" }
        ),
        (entries) => new Map(entries)
      )

    const plan = (desired: Desired): Effect.Effect<Plan, InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* DecodeConfig.decode(desired)
        const changes = Reconciler.compare(running(), next)
        return Reconciler.toPlan(changes, yield* toolsOf(changes, next))
      })

    const reconcile = (desired: Desired | ConfigUpdate): Effect.Effect<Plan, InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* Effect.tapError(DecodeConfig.decode(desired), (error) =>
          Effect.sync(() => events.publish({ type: "ConfigRejected", errors: [error] }))
        )
        const changes = Reconciler.compare(running(), next)
        const plan = Reconciler.toPlan(changes, yield* toolsOf(changes, next))
        const order = [...Reconciler.apply(running(), changes).keys()]
        const added = yield* createAll(changes.start)
        const cachedListings = yield* allCachedListings(changes.change.map(({ definition }) => definition))
        current = next
        const isUsed = (name: string) => registry.get(name) !== undefined
        const leaving = changes.stop.filter(isUsed)
        leaving.forEach(actors.retire)
        const move = ({ change, definition }: Reconciler.Changes["change"][number]) =>
          apply(changes.taken.includes(definition.name) ? withTakeover(definition) : definition, {
            event: { _tag: "ConfigChanged", change, settings: definition.settings },
            cachedListings: cachedListings.get(definition.name)
          })
        yield* forAll(changes.change, ({ definition }) => definition, move)
        yield* forAll(changes.remarked, (definition) => definition, apply)
        // A command may have created an actor in the meantime.
        changes.stop.filter((name) => !leaving.includes(name)).forEach(actors.retire)
        yield* arrange(order, added)
        publishDiagnostics()
        events.publish({ type: "ConfigApplied", plan })
        return plan
      })

    // --- one by one -------------------------------------------------------------------------------------------------

    const add: Shape["add"] = (name, config) =>
      Effect.gen(function* () {
        const issues = ServerName.issues(name)
        if (issues.length > 0) return yield* new InvalidConfig({ server: name, issues })
        const definition = yield* DecodeConfig.define(name, config, current.defaults)
        if (registry.definition(name) !== undefined) return yield* new ServerExists({ server: name })
        const member = yield* actors.create(definition)
        registry.add(member)
        actors.start(member)
      })

    const remove = (name: string) =>
      Effect.suspend(() => {
        if (registry.definition(name) === undefined) return Effect.fail(registry.notFound(name))
        const actor = registry.get(name)
        actors.retire(name)
        registry.remove(name)
        return Effect.succeed(actor === undefined ? Effect.void : actors.gone(actor))
      })

    return {
      begin: Effect.gen(function* () {
        const added = yield* createAll([...first.definitions.values()])
        yield* arrange(first.definitions.keys(), added)
        publishDiagnostics()
      }),
      plan,
      reconcile: (desired) => exclusively(reconcile(desired)),
      add: (name, config) => exclusively(add(name, config)),
      remove: (name) => Effect.flatten(exclusively(remove(name)))
    }
  })

/** Whether the current listings say nothing about the listings under the new config. */
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
