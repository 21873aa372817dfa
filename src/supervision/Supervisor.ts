/**
 * The supervisor itself: one actor for each server that is used, the commands that move them, and everything that is told of them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as Auth from "../auth/Auth.js"
import { McpAuth } from "../auth/McpAuth.js"
import { Connector } from "../connection/Connector.js"
import * as Errors from "../domain/Errors.js"
import * as Lifecycle from "../domain/server/Lifecycle.js"
import * as ServerStatus from "../domain/server/ServerStatus.js"
import * as Actors from "./servers/Actors.js"
import * as Calls from "./calls/Calls.js"
import { CatalogStore } from "./catalog/CatalogStore.js"
import * as Configuration from "./servers/Configuration.js"
import * as EventLog from "./EventLog.js"
import type { SupervisorContext } from "./SupervisorContext.js"
import type * as Inbox from "./actor/Inbox.js"
import * as ServerLogins from "./servers/serverLogins.js"
import { McpSupervisor, type Options, type Shape } from "./model.js"
import * as Reconciler from "./servers/Reconciler.js"
import * as ServerRegistry from "./servers/ServerRegistry.js"
import type { ServerActor } from "./actor/ServerActor.js"
import * as Subscriptions from "./calls/subscriptions.js"
import { traced } from "./calls/trace.js"
import * as Turns from "./servers/Turns.js"

/**
 * Many processes starting at once, each perhaps loading its program first, would make all of them too slow. A server that takes
 * longer than this to start no longer keeps others from starting.
 */
const spawns = { atOnce: 8, shortest: 0, longest: "3 seconds" } as const

/**
 * An attempt costs us a few milliseconds of work, most of them at its beginning, and then waits for the network. So a few dozen
 * servers are dialled at the same time, and of thousands that fail at once no more in a second than leave time for calls.
 */
const dials = { atOnce: 64, shortest: "500 millis", longest: "1 second" } as const

const make = <R>(
  options: Options<R>
): Effect.Effect<Context.Context<McpSupervisor | McpAuth>, Errors.InvalidConfig, Connector | R | Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* Reconciler.resolveInSteps(options)
    const connector = yield* Connector
    const store = yield* CatalogStore
    const services = yield* Effect.context<R>()
    const runtime = (yield* Effect.runtime<never>()).pipe(
      Runtime.updateContext(Context.omit(Tracer.ParentSpan)),
      // whoever builds the layer may be beyond interruption; the actors are not
      Runtime.enableRuntimeFlag(RuntimeFlags.Interruption)
    )
    const clock = yield* Effect.clock
    const provided = <A, B>(handler: ((input: A) => Effect.Effect<B, never, R>) | undefined) =>
      handler === undefined ? undefined : (input: A) => Effect.provide(handler(input), services)
    const { headers } = options

    const events = EventLog.make(clock)
    const registry = ServerRegistry.make(events)
    let closed = false

    const auth = yield* Auth.make({
      clientInfo: options.clientInfo,
      openUrl: provided(options.openUrl),
      onEvent: (server, what) => events.publish({ type: "Auth", server, what }),
      onChange: (server, revoked) => registry.get(server)?.send({ _tag: "CredentialsChanged", revoked })
    })

    const context: SupervisorContext = {
      connector,
      auth,
      store,
      clock,
      fork: Runtime.runFork(runtime),
      events,
      spawns: yield* Turns.make(spawns),
      dials: yield* Turns.make(dials),
      handlers: { elicit: provided(options.onElicit), sample: provided(options.onSample) },
      roots: options.roots ?? workingDirectory(),
      goneError: (server) => (closed ? new Errors.SupervisorClosed() : registry.notFound(server)),
      headers: headers && ((server, reason) => Effect.provide(headers(server, reason), services))
    }

    const find = (name: string): Effect.Effect<ServerActor, Errors.ServerNotFound> =>
      Effect.flatMap(actors.find(name), (actor) =>
        actor === undefined ? Effect.fail(registry.notFound(name)) : Effect.succeed(actor)
      )

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
          () => registry.notFound(name)
        )
      })

    const awaitOutcomes: Shape["awaitOutcomes"] = ({ servers, timeout } = {}) =>
      Effect.gen(function* () {
        const { done, outcomes } = registry.settling(servers)
        yield* timeout === undefined ? done : Effect.timeoutOption(done, timeout)
        const snapshots =
          servers === undefined
            ? registry.snapshots.get()
            : [...new Set(servers)].flatMap((name) => registry.snapshot(name) ?? [])
        // one that settled and is connecting again is shown as it settled
        return snapshots.map((now) => (ServerStatus.isSettled(now.status) ? now : (outcomes.get(now.name) ?? now)))
      })

    const awaitSettled: Shape["awaitSettled"] = (options) =>
      Effect.gen(function* () {
        const snapshots = yield* awaitOutcomes(options)
        const [failed, ...others] = snapshots
          .filter(({ name, status }) => isRequired(name) && status.status !== "connected" && status.status !== "idle")
          .map(({ name, status }) => ({ server: name, status }))
        if (failed === undefined) return snapshots
        return yield* new Errors.RequiredServerFailed({ servers: [failed, ...others] })
      })

    const isRequired = (name: string) => registry.definition(name)?.config?.required === true

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        registry.end()
        events.end()
      })
    )
    const actors = yield* Actors.make(context, registry)
    const configuration = yield* Configuration.make(context, registry, actors, first)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        // whoever waits for a server learns it at once
        for (const { state } of registry.actors()) state.end()
      })
    )
    yield* configuration.begin

    const named =
      <A, E>(method: string, run: (name: string) => Effect.Effect<A, E>) =>
      (name: string) =>
        traced(`McpSupervisor.${method}`, { "mcp.server": name }, () => run(name))

    const shape: Shape = {
      servers: Effect.sync(() => registry.snapshots.get()),
      server: (name) =>
        Effect.suspend(() => {
          const snapshot = registry.snapshot(name)
          return snapshot === undefined ? Effect.fail(registry.notFound(name)) : Effect.succeed(snapshot)
        }),
      changes: registry.snapshots.changes,
      events: events.live,
      eventsFrom: events.from,
      catalog: Effect.sync(() => registry.catalog.current.get()),
      catalogChanges: registry.catalog.current.changes,
      catalogFor: (agent) => Effect.sync(() => registry.catalog.forAgent(agent)),
      ...Calls.make(context, registry, actors.find, () => closed),
      subscribeResource: (server, uri) =>
        Stream.unwrap(
          Effect.map(actors.find(server), (actor) => {
            if (actor !== undefined) return Subscriptions.follow(context, actor, uri)
            return closed ? Stream.empty : Stream.fail(registry.notFound(server))
          })
        ),
      add: (name, config) => traced("McpSupervisor.add", { "mcp.server": name }, () => configuration.add(name, config)),
      remove: named("remove", configuration.remove),
      connect: named("connect", outcome({ _tag: "Connect" })),
      restart: named("restart", outcome({ _tag: "Restart" })),
      disconnect: named("disconnect", command({ _tag: "Disable" })),
      enable: named("enable", command({ _tag: "Enable" })),
      disable: named("disable", command({ _tag: "Disable" })),
      plan: (desired) => traced("McpSupervisor.plan", {}, () => configuration.plan(desired)),
      reconcile: (desired) => traced("McpSupervisor.reconcile", {}, () => configuration.reconcile(desired)),
      awaitOutcomes: (options) => traced("McpSupervisor.awaitOutcomes", {}, () => awaitOutcomes(options)),
      awaitSettled: (options) => traced("McpSupervisor.awaitSettled", {}, () => awaitSettled(options)),
      logs: (name) => Stream.unwrap(Effect.map(find(name), (actor) => actor.logs.from(() => 1)))
    }
    return Context.make(McpSupervisor, shape).pipe(Context.add(McpAuth, ServerLogins.make(auth, registry, find)))
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
 * `CatalogStore` and the `CredentialStore` it is given, which by default keep nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, Errors.InvalidConfig, Connector | R> => Layer.scopedContext(make(options))
