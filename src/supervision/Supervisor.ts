/**
 * The supervisor itself: one actor for each server, the commands that move them, and everything that is told of them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { withinBudget } from "../connection/budget.js"
import { Connector } from "../connection/Connector.js"
import * as Catalog from "../domain/Catalog.js"
import * as Errors from "../domain/Errors.js"
import * as Lifecycle from "../domain/Lifecycle.js"
import type { Plan } from "../domain/Plan.js"
import type { ServerConfig } from "../domain/ServerConfig.js"
import * as ServerStatus from "../domain/ServerStatus.js"
import * as Calls from "./Calls.js"
import { CatalogStore } from "./CatalogStore.js"
import type { Definition } from "./Definition.js"
import * as EventLog from "./EventLog.js"
import * as Gate from "./Gate.js"
import type { Hub } from "./Hub.js"
import type * as Inbox from "./Inbox.js"
import * as Logs from "./logs.js"
import { type Desired, McpSupervisor, type Options, type Shape } from "./model.js"
import * as Reconciler from "./Reconciler.js"
import * as Roster from "./Roster.js"
import * as ServerActor from "./ServerActor.js"
import * as Subscriptions from "./subscriptions.js"
import { traced } from "./trace.js"

/** How many processes are started at a time. */
const spawnsAtOnce = 8

/** Everything is over by then, whatever hangs. */
const shutdownBudget = "6 seconds"

/** How long a stored catalog may take to be read before it does without. */
const loadBudget = "1 second"

const make = <R>(options: Options<R>): Effect.Effect<Shape, Errors.InvalidConfig, Connector | R | Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* Reconciler.resolve(options)
    const connector = yield* Connector
    const store = yield* CatalogStore
    const context = yield* Effect.context<R>()
    const runtime = Runtime.updateContext(yield* Effect.runtime<never>(), Context.omit(Tracer.ParentSpan))
    const clock = yield* Effect.clock
    const provided = <A, B>(handler: ((input: A) => Effect.Effect<B, never, R>) | undefined) =>
      handler === undefined ? undefined : (input: A) => Effect.provide(handler(input), context)
    const { headers } = options

    const events = EventLog.make(clock)
    const roster = Roster.make(events)
    const applying = yield* Effect.makeSemaphore(1)
    let wanted = first
    let closed = false

    const hub: Hub = {
      connector,
      store,
      clock,
      fork: Runtime.runFork(runtime),
      events,
      spawns: Gate.make(spawnsAtOnce, Number.POSITIVE_INFINITY),
      handlers: { elicit: provided(options.onElicit), sample: provided(options.onSample) },
      roots: options.roots ?? workingDirectory(),
      goneError: (server) => (closed ? new Errors.SupervisorClosed() : roster.notFound(server)),
      headers: headers && ((server, reason) => Effect.provide(headers(server, reason), context))
    }

    // --- actors -----------------------------------------------------------------------------------------------------

    const fibers = yield* FiberMap.make<symbol>()
    /** Removed servers of which something is left: a new one of the same name waits for its predecessor. */
    const leaving = new Map<string, ServerActor.ServerActor>()

    /** What is kept of a server from an earlier run. Nothing, if the store fails or hangs. */
    const load = (name: string, config: ServerConfig) =>
      Effect.suspend(() => store.load(name, config)).pipe(
        withinBudget(loadBudget),
        Effect.map((stored) => Option.getOrUndefined(Option.flatten(stored))?.listings),
        Effect.catchAllCause((cause) => Effect.as(Logs.fault(name, config, cause), undefined))
      )

    const keptOf = ({ config, name }: Definition) =>
      config === undefined || !config.lazy ? Effect.succeed(undefined) : load(name, config)

    const create = (definition: Definition) =>
      Effect.flatMap(keptOf(definition), (kept) =>
        ServerActor.make(hub, { definition, kept, onChange: roster.changed })
      )

    const start = (actor: ServerActor.ServerActor) => {
      const { name } = actor
      const predecessor = leaving.get(name)
      const life = Effect.zipRight(predecessor === undefined ? Effect.void : gone(predecessor), actor.run)
      const left = Effect.sync(() => leaving.get(name) === actor && leaving.delete(name))
      events.publish({ type: "ServerAdded", server: name })
      FiberMap.unsafeSet(fibers, Symbol(name), hub.fork(Effect.ensuring(life, left)))
    }

    /** Ends when nothing of it is left. */
    const gone = ({ state }: ServerActor.ServerActor): Effect.Effect<void> =>
      Effect.ignore(state.until(() => undefined))

    const retire = (actor: ServerActor.ServerActor) => {
      leaving.set(actor.name, actor)
      actor.send({ _tag: "Remove" })
      events.publish({ type: "ServerRemoved", server: actor.name })
    }

    const running = (): ReadonlyMap<string, Definition> =>
      new Map(roster.all().map((actor) => [actor.name, actor.definition()]))

    /** Puts the servers in their order, and names and filters in force. */
    const arrange = (definitions: Iterable<string>, added: ReadonlyMap<string, ServerActor.ServerActor>) => {
      const actors = [...definitions].flatMap((name) => added.get(name) ?? roster.get(name) ?? [])
      roster.set(actors, wanted)
    }

    const find = (name: string): Effect.Effect<ServerActor.ServerActor, Errors.ServerNotFound> =>
      Effect.suspend(() => {
        const actor = roster.get(name)
        return actor === undefined ? Effect.fail(roster.notFound(name)) : Effect.succeed(actor)
      })

    // --- configuration ----------------------------------------------------------------------------------------------

    const resolve = (desired: Desired) =>
      Effect.tapError(Reconciler.resolve(desired), (error) =>
        Effect.sync(() => events.publish({ type: "ConfigRejected", errors: [error] }))
      )

    /** The public names of tools before and after, as far as they are known. */
    const toolsOf = (changes: Reconciler.Changes, next: Reconciler.Wanted) =>
      Effect.gen(function* () {
        const after = Reconciler.apply(running(), changes)
        const sources = yield* Effect.forEach(
          after.values(),
          (definition) =>
            Effect.map(foreseen(definition), (listings) => {
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
    const foreseen = (definition: Definition) =>
      Effect.suspend(() => {
        const { config, name, settings } = definition
        if (config === undefined || settings.disabled !== undefined) return Effect.succeed(undefined)
        const actor = roster.get(name)
        if (actor?.state.get().intent === "down") return Effect.succeed(undefined)
        const known = actor?.known()
        if (known !== undefined) return Effect.succeed(known)
        return load(name, config)
      })

    const plan = (desired: Desired): Effect.Effect<Plan, Errors.InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* Reconciler.resolve(desired)
        const changes = Reconciler.compare(running(), next)
        return Reconciler.toPlan(changes, yield* toolsOf(changes, next))
      })

    const apply = (desired: Desired): Effect.Effect<Plan, Errors.InvalidConfig> =>
      Effect.gen(function* () {
        const next = yield* resolve(desired)
        const changes = Reconciler.compare(running(), next)
        const plan = Reconciler.toPlan(changes, yield* toolsOf(changes, next))
        const order = [...Reconciler.apply(running(), changes).keys()]
        const added = yield* Effect.forEach(changes.start, create, { concurrency: "unbounded" })
        const kept = yield* Effect.forEach(changes.change, ({ definition }) => keptOf(definition), {
          concurrency: "unbounded"
        })
        const left = changes.stop.flatMap((name) => roster.get(name) ?? [])
        wanted = next
        for (const actor of left) retire(actor)
        const tell = ({ change, definition }: Reconciler.Changes["change"][number], index: number) =>
          roster.get(definition.name)?.tell({
            event: { _tag: "ConfigChanged", change, settings: definition.settings },
            definition: changes.taken.includes(definition.name) ? withTakeover(definition) : definition,
            kept: kept[index]
          }) ?? Effect.void
        yield* Effect.forEach(changes.change, tell, { concurrency: "unbounded", discard: true })
        arrange(order, new Map(added.map((actor) => [actor.name, actor])))
        added.forEach(start)
        events.publish({ type: "ConfigApplied", plan })
        return plan
      }).pipe(Effect.uninterruptible, applying.withPermits(1))

    // --- commands ---------------------------------------------------------------------------------------------------

    const add: Shape["add"] = (name, config) =>
      Effect.gen(function* () {
        const definition = yield* Reconciler.define(name, config, wanted.defaults)
        if (roster.get(name) !== undefined) return yield* new Errors.ServerExists({ server: name })
        const actor = yield* create(definition)
        arrange([...roster.all().map(({ name }) => name), name], new Map([[name, actor]]))
        start(actor)
      }).pipe(Effect.uninterruptible, applying.withPermits(1))

    const remove: Shape["remove"] = (name) =>
      Effect.flatMap(find(name), (actor) =>
        Effect.sync(() => {
          retire(actor)
          arrange(
            roster.all().flatMap((other) => (other === actor ? [] : [other.name])),
            new Map()
          )
          return gone(actor)
        })
      ).pipe(Effect.uninterruptible, applying.withPermits(1), Effect.flatten)

    const command = (event: Inbox.Event) => (name: string) =>
      Effect.flatMap(find(name), (actor) => actor.tell({ event }))

    /** The first status that is not `connecting`, after a command that asks for a connection. */
    const outcome = (event: Inbox.Event) => (name: string) =>
      Effect.gen(function* () {
        const actor = yield* find(name)
        yield* actor.tell({ event })
        return yield* Effect.mapError(
          actor.until((state) => {
            const status = Lifecycle.status(state)
            return ServerStatus.isSettled(status) ? status : undefined
          }),
          () => roster.notFound(name)
        )
      })

    const awaitSettled: Shape["awaitSettled"] = (options = {}) =>
      Effect.gen(function* () {
        const { servers, timeout } = options
        const isListed = (name: string) => servers === undefined || servers.includes(name)
        const listed = () => roster.snapshots.get().filter(({ name }) => isListed(name))
        const settled = Effect.ignore(
          roster.snapshots.until(() => listed().every(({ status }) => ServerStatus.isSettled(status)) || undefined)
        )
        yield* timeout === undefined ? settled : Effect.timeoutOption(settled, timeout)
        const snapshots = listed()
        const [failed, ...others] = snapshots
          .filter(({ name, status }) => isRequired(name) && status.status !== "connected" && status.status !== "idle")
          .map(({ name, status }) => ({ server: name, status }))
        if (failed === undefined) return snapshots
        return yield* new Errors.RequiredServerFailed({ servers: [failed, ...others] })
      })

    const isRequired = (name: string) => roster.get(name)?.definition().config?.required === true

    // --- beginning and end ------------------------------------------------------------------------------------------

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        closed = true
        // whoever waits for a server learns it at once
        for (const { state } of roster.all()) state.end()
        yield* withinBudget(shutdownBudget)(Fiber.interruptAll(Array.from(fibers, ([, fiber]) => fiber)))
        roster.set([], wanted)
        roster.end()
        events.end()
      })
    )
    const actors = yield* Effect.forEach(first.definitions.values(), create, { concurrency: "unbounded" })
    arrange(first.definitions.keys(), new Map(actors.map((actor) => [actor.name, actor])))
    actors.forEach(start)

    const named =
      <A, E>(method: string, run: (name: string) => Effect.Effect<A, E>) =>
      (name: string) =>
        traced(`McpSupervisor.${method}`, { "mcp.server": name }, () => run(name))

    return {
      servers: Effect.sync(() => roster.snapshots.get()),
      server: (name) =>
        Effect.suspend(() => {
          const snapshot = roster.snapshots.get().find((snapshot) => snapshot.name === name)
          return snapshot === undefined ? Effect.fail(roster.notFound(name)) : Effect.succeed(snapshot)
        }),
      changes: roster.snapshots.changes,
      events: events.live,
      eventsFrom: events.from,
      catalog: Effect.sync(() => roster.catalog.current.get()),
      catalogChanges: roster.catalog.current.changes,
      catalogFor: (agent) => Effect.sync(() => roster.catalog.forAgent(agent)),
      ...Calls.make(hub, roster, () => closed),
      subscribeResource: (server, uri) =>
        Stream.unwrap(
          Effect.sync(() => {
            const actor = roster.get(server)
            if (actor !== undefined) return Subscriptions.follow(hub, actor, uri)
            return closed ? Stream.empty : Stream.fail(roster.notFound(server))
          })
        ),
      add: (name, config) => traced("McpSupervisor.add", { "mcp.server": name }, () => add(name, config)),
      remove: named("remove", remove),
      connect: named("connect", outcome({ _tag: "Connect" })),
      restart: named("restart", outcome({ _tag: "Restart" })),
      disconnect: named("disconnect", command({ _tag: "Disable" })),
      enable: named("enable", command({ _tag: "Enable" })),
      disable: named("disable", command({ _tag: "Disable" })),
      plan: (desired) => traced("McpSupervisor.plan", {}, () => plan(desired)),
      reconcile: (desired) => traced("McpSupervisor.reconcile", {}, () => apply(desired)),
      awaitSettled: (options) => traced("McpSupervisor.awaitSettled", {}, () => awaitSettled(options)),
      logs: (name) => Stream.unwrap(Effect.map(find(name), (actor) => actor.logs.from(() => 1)))
    }
  })

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

/** None, if it was deleted under us. */
const workingDirectory = (): ReadonlyArray<string> => {
  try {
    return [process.cwd()]
  } catch {
    return []
  }
}

/**
 * Keeps servers alive through the connector it is given. It touches no disk: what is kept between two runs is up to the
 * `CatalogStore` it is given, which by default keeps nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor, Errors.InvalidConfig, Connector | R> => Layer.scoped(McpSupervisor, make(options))
