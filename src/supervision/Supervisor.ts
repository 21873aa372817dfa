/**
 * The supervisor: runs one actor for each server in use, executes commands, and reports their state.
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
import * as DecodeConfig from "./servers/decodeConfig.js"
import * as ServerRegistry from "./servers/ServerRegistry.js"
import { settledStatus } from "./servers/settledStatus.js"
import type { ServerActor } from "./actor/ServerActor.js"
import * as Subscriptions from "./calls/subscriptions.js"
import { traced } from "./calls/trace.js"
import * as Turns from "./servers/Turns.js"

/**
 * Limits simultaneous process starts: many programs loading at once slow each other down. A server that takes longer
 * than `longest` no longer blocks the start of others.
 */
const spawns = { atOnce: 8, shortest: 0, longest: "3 seconds" } as const

/**
 * Limits simultaneous attempts to remote servers. An attempt needs a few milliseconds of CPU, most of them at its
 * beginning, and then waits for the network. A few dozen servers are dialled at a time; if thousands fail at once, the
 * retries per second are limited so that calls still get CPU time.
 */
const dials = { atOnce: 64, shortest: "500 millis", longest: "1 second" } as const

const make = <R>(
  options: Options<R>
): Effect.Effect<Context.Context<McpSupervisor | McpAuth>, Errors.InvalidConfig, Connector | R | Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* DecodeConfig.decode(options)
    const connector = yield* Connector
    const store = yield* CatalogStore
    const services = yield* Effect.context<R>()
    const runtime = (yield* Effect.runtime<never>()).pipe(
      Runtime.updateContext(Context.omit(Tracer.ParentSpan)),
      // The layer may be built in an uninterruptible region; the actors stay interruptible.
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

    const command = (event: Inbox.UnstampedEvent) => (name: string) =>
      Effect.flatMap(find(name), (actor) => actor.tell({ event }))

    /** Sends a command that asks for a connection and returns the first status that is not `connecting`. */
    const outcome = (event: Inbox.UnstampedEvent) => (name: string) =>
      Effect.gen(function* () {
        const actor = yield* find(name)
        yield* actor.tell({ event })
        return yield* settledStatus(registry, actor)
      })

    const awaitOutcomes: Shape["awaitOutcomes"] = ({ servers, timeout } = {}) =>
      Effect.gen(function* () {
        const { done, outcomes } = registry.settling(servers)
        yield* timeout === undefined ? done : Effect.timeoutOption(done, timeout)
        const snapshots =
          servers === undefined
            ? registry.snapshots.get()
            : [...new Set(servers)].flatMap((name) => registry.snapshot(name) ?? [])
        // A server that settled and is connecting again is reported with the status it settled in.
        return snapshots.map((now) => (ServerStatus.isSettled(now.status) ? now : (outcomes.get(now.name) ?? now)))
      })

    const awaitSettled: Shape["awaitSettled"] = (options) =>
      Effect.gen(function* () {
        const snapshots = yield* awaitOutcomes(options)
        const [failed, ...others] = snapshots
          .filter(({ name, status }) => isRequired(name) && !ServerStatus.isUsable(status))
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
        // Callers that wait for a server fail at once.
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
    return Context.make(McpSupervisor, shape).pipe(Context.add(McpAuth, ServerLogins.make(auth.logins, registry, find)))
  })

/** Returns an empty list if the working directory was deleted. */
const workingDirectory = (): ReadonlyArray<string> => {
  try {
    return [process.cwd()]
  } catch {
    return []
  }
}

/**
 * Runs servers with the connector from the context. It writes nothing to disk itself: `CatalogStore` and
 * `CredentialStore` store data between two runs, and their defaults store nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, Errors.InvalidConfig, Connector | R> => Layer.scopedContext(make(options))
