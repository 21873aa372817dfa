/**
 * The world of one simulated history: the supervisor, its servers, its callers, and everything that was recorded.
 */
import { Cause, Effect, Exit, type Fiber, Layer, Logger, LogLevel, Scope, Stream } from "effect"
import { Connector } from "../../../src/connection/Connector.js"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"
import type { Errors, ServerEvent } from "../../../src/index.js"
import { type Desired, McpSupervisor, type Shape } from "../../../src/supervision/model.js"
import * as Supervisor from "../../../src/supervision/Supervisor.js"
import { FakeConnector, Simulation } from "../../../src/testing/Testing.js"
import type { History } from "./history.js"
import { type Ledger, makeLedger, note, noteUnsent, noteTools } from "./ledger.js"
import { behaviourOf, makeSite, type Site, type Watch } from "./sites.js"
import { globalGlobs, serverNames, type ServerSpec, toInput } from "./specs.js"

export interface CallRecord {
  readonly id: number
  readonly server: string
  readonly tool: string
  readonly replay: "safe" | "never"
  readonly total: number
  readonly startedAt: number
  readonly fiber: Fiber.RuntimeFiber<Protocol.CallToolResult, Errors.CallError>
}

export interface CommandRecord {
  readonly name: string
  readonly server: string | undefined
  /** The time at which it must have ended. */
  readonly until: number
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
}

export interface SubscriptionRecord {
  readonly server: string
  readonly fiber: Fiber.RuntimeFiber<void, Errors.ReadError>
  seen: number
}

export interface World {
  readonly simulation: Simulation.Simulation
  readonly supervisor: Shape
  readonly controls: FakeConnector.FakeConnector["controls"]
  readonly ledger: Ledger
  readonly scope: Scope.CloseableScope
  readonly sites: ReadonlyMap<string, Site>
  /** The names that moves select from. */
  readonly names: ReadonlyArray<string>
  /** The current config. */
  readonly desired: Map<string, ServerSpec>
  /** The servers that were added while running. */
  readonly dynamic: Map<string, ServerSpec>
  /** The index of the current global patterns. */
  globs: number
  /** The pending calls and commands. */
  calls: Array<CallRecord>
  commands: Array<CommandRecord>
  subscriptions: Array<SubscriptionRecord>
  lastCall: number
  /** Published events that are not checked yet. */
  readonly news: Array<ServerEvent.ServerEvent>
  /** The number of fibers that waited forever at the start. */
  readonly waitingBefore: number
  /** The readers that read until the end. */
  readonly readers: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>
  /** Reads the journal of the servers. It never ends, so the end of the history must interrupt it. */
  readonly journalReader: Fiber.RuntimeFiber<unknown, unknown>
  /** Violations that were found where nothing could be thrown. */
  readonly wrongs: Array<string>
  readonly met: (what: string) => void
  /** Receives a log of all events, for people. */
  readonly log: (line: () => string) => void
}

export const desiredOf = (desired: Iterable<readonly [string, ServerSpec]>, globs: number): Desired => {
  const all = [...desired]
  return {
    servers: Object.fromEntries(all.map(([name, spec]) => [name, toInput(spec)])),
    tools: globalGlobs[globs]!,
    untrusted: all.filter(([, { flaw }]) => flaw === "untrusted").map(([name]) => name)
  }
}

/** `Effect.never` is an interval of the platform that does nothing. A simulation uses no other interval. */
export const waitingForEver = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length

/** The result of an effect that does not wait. */
export const peek = <A>(effect: Effect.Effect<A>): A => Effect.runSync(effect)

export const valueOf = <A, E>(exit: Exit.Exit<A, E>): A =>
  Exit.getOrElse(exit, (cause) => {
    throw new Error(Cause.pretty(cause))
  })

export const build = (
  history: History,
  options: { readonly onRest: () => void; readonly met: World["met"]; readonly log: World["log"] }
): World => {
  const { log, met, onRest } = options
  const waitingBefore = waitingForEver()
  const simulation = Simulation.make(history.seed, { onRest })
  const ledger = makeLedger()
  const wrongs: Array<string> = []
  const news: Array<ServerEvent.ServerEvent> = []
  const sites = new Map<string, Site>(serverNames.map((name) => [name, makeSite(name)]))
  const scope = valueOf(simulation.run(Scope.make()))

  const watch: Watch = {
    met,
    listed: (server, number, tools) => noteTools(ledger, server, number, tools),
    unsent: (call) => noteUnsent(ledger, call),
    crash: (server, number, error) =>
      Effect.flatMap(
        controls.attempts(server),
        (all) => all.find((attempt) => attempt.number === number)?.crash(error) ?? Effect.void
      )
  }
  const scripts = Object.fromEntries([...sites].map(([name, site]) => [name, () => behaviourOf(site, watch)]))
  const { connector, controls } = valueOf(simulation.run(FakeConnector.make(scripts)))
  const journalReader = simulation.fork(
    controls.awaitEntry((entry) => {
      log(() => `${simulation.elapsed()}     ${FakeConnector.render(entry)}`)
      const wrong = note(ledger, entry, simulation.elapsed())
      if (wrong !== undefined) wrongs.push(wrong)
      return false
    })
  )

  const desired = new Map(history.servers.map((spec, index): [string, ServerSpec] => [serverNames[index]!, spec]))
  // only a config can contain servers without trust
  const trusted = [...desired].filter(([, { flaw }]) => flaw !== "untrusted")
  const supervisor = valueOf(
    simulation.run(
      Supervisor.layer(desiredOf(trusted, 0)).pipe(
        Layer.provide(Layer.succeed(Connector, connector)),
        Layer.buildWithScope(scope),
        Effect.flatMap((context) => Effect.provide(McpSupervisor, context)),
        Logger.withMinimumLogLevel(LogLevel.None)
      )
    )
  )
  const read = <A, E>(stream: Stream.Stream<A, E>, each: (value: A) => void) =>
    simulation.fork(Stream.runForEach(stream, (value) => Effect.sync(() => each(value))))
  const readers = [
    read(supervisor.eventsFrom(1), (event) => {
      log(() => `${simulation.elapsed()} ${JSON.stringify(event)}`)
      news.push(event)
    }),
    read(supervisor.changes, () => met("read changes")),
    read(supervisor.catalogChanges, () => met("read catalogChanges")),
    ...trusted.map(([name]) => read(supervisor.logs(name), () => met("read logs")))
  ]
  return {
    simulation,
    supervisor,
    controls,
    ledger,
    scope,
    sites,
    names: serverNames.slice(0, history.servers.length + 1),
    desired,
    dynamic: new Map(),
    globs: 0,
    calls: [],
    commands: [],
    subscriptions: [],
    lastCall: 0,
    news,
    waitingBefore,
    readers,
    journalReader,
    wrongs,
    met,
    log
  }
}
