/**
 * Everything of one simulated history: the supervisor, the servers it talks to, those who use it, and what was seen of them.
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
  /** When it has to be over in any case. */
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
  /** Names that moves choose from. */
  readonly names: ReadonlyArray<string>
  /** What the configuration says. */
  readonly desired: Map<string, ServerSpec>
  /** What was added while running. */
  readonly dynamic: Map<string, ServerSpec>
  /** Which global patterns hold. */
  globs: number
  /** Those that are not over. */
  calls: Array<CallRecord>
  commands: Array<CommandRecord>
  subscriptions: Array<SubscriptionRecord>
  lastCall: number
  /** What the supervisor published and nobody has looked at yet. */
  readonly news: Array<ServerEvent.ServerEvent>
  /** How many fibers waited for ever when it began. */
  readonly waitingBefore: number
  /** Those who read until the end. */
  readonly readers: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>
  /** Reads the journal of the servers. It waits for ever, so the end of the history has to interrupt it. */
  readonly journalReader: Fiber.RuntimeFiber<unknown, unknown>
  /** What was seen to be wrong, at a moment when nothing could be thrown. */
  readonly wrongs: Array<string>
  readonly met: (what: string) => void
  /** Told all that happens, for people. */
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

/** `Effect.never` is an interval of the platform that does nothing. No other one comes or goes during a simulation. */
export const waitingForEver = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length

/** What can be known without waiting. */
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
  // what is not trusted can be said of a new configuration only
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
