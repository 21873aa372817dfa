import { assert } from "@effect/vitest"
import {
  type Clock,
  Context,
  Effect,
  Exit,
  Fiber,
  HashMap,
  Layer,
  Logger,
  LogLevel,
  Option,
  Random,
  Scope,
  Stream,
  TestClock,
  TestServices,
  Tracer
} from "effect"
import { Connector } from "../../src/connection/Connector.js"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import type { EventOf, ServerEvent } from "../../src/domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../../src/domain/server/ServerSnapshot.js"
import type { ServerStatus, StatusOf } from "../../src/domain/server/ServerStatus.js"
import { McpSupervisor, type Options, type Shape } from "../../src/supervision/model.js"
import * as Supervisor from "../../src/supervision/Supervisor.js"
import { FakeConnector } from "../../src/testing/Testing.js"

type ConnectorService = Context.Tag.Service<Connector>

export interface Setup {
  /** The scripts of the servers. A server without a script is driven by the test. */
  readonly scripts?: Readonly<Record<string, FakeConnector.Script>> | undefined
  /** Wraps the fake connector. */
  readonly around?: ((connector: ConnectorService) => ConnectorService) | undefined
  /** The catalog store. */
  readonly store?: Layer.Layer<never> | undefined
  /** The clock of the supervisor and its servers. Defaults to that of the test. */
  readonly clock?: Clock.Clock | undefined
  /** A fake that another supervisor uses as well. */
  readonly fake?: FakeConnector.FakeConnector | undefined
}

export interface Harness {
  readonly supervisor: Shape
  readonly fake: FakeConnector.FakeConnector
  readonly controls: FakeConnector.FakeConnector["controls"]
  /** All events published so far. */
  readonly events: ReadonlyArray<ServerEvent>
  readonly eventsOf: <Type extends ServerEvent["type"]>(type: Type) => ReadonlyArray<EventOf<Type>>
  /** The snapshot, after all fibers settled. */
  readonly snapshot: (server: string) => Effect.Effect<ServerSnapshot>
  readonly status: (server: string) => Effect.Effect<ServerStatus>
  /** The statuses of a server, without repetition, from the events. */
  readonly statuses: (server: string) => ReadonlyArray<ServerStatus["status"]>
  /** Waits until a server has this status. No time passes. */
  readonly awaitStatus: <Status extends ServerStatus["status"]>(
    server: string,
    status: Status
  ) => Effect.Effect<StatusOf<Status>>
  readonly toolNames: Effect.Effect<ReadonlyArray<string>>
  /** The journal of the fake, or the entries with this beginning. */
  readonly story: (prefix?: string) => Effect.Effect<ReadonlyArray<string>>
  /** The number of entries of the journal equal to this text. */
  readonly count: (line: string) => Effect.Effect<number>
  /** Closes the supervisor's scope and waits for its end. */
  readonly close: Effect.Effect<void>
}

/** Lets every fiber run until it waits, without time passing. */
export const settle = Effect.asVoid(Effect.repeatN(TestClock.adjust(0), 3))

export const passed = (time: Parameters<typeof TestClock.adjust>[0]) => Effect.zipRight(TestClock.adjust(time), settle)

/** A supervisor over a fake, until the end of the test. Returns after everything that needs no time has happened. */
export const supervise = <R = never>(
  options: Options<R> = {},
  setup: Setup = {}
): Effect.Effect<Harness, Errors.InvalidConfig, R | Scope.Scope> =>
  Effect.gen(function* () {
    const harness = yield* superviseUnsettled(options, setup)
    yield* settle
    return harness
  })

/** Like `supervise`, but returns right after the layer is built. */
export const superviseUnsettled = <R = never>(
  options: Options<R> = {},
  setup: Setup = {}
): Effect.Effect<Harness, Errors.InvalidConfig, R | Scope.Scope> =>
  Effect.gen(function* () {
    const fake = setup.fake ?? (yield* FakeConnector.make(setup.scripts))
    const connector = Layer.succeed(Connector, setup.around?.(fake.connector) ?? fake.connector)
    const scope = yield* Scope.make()
    const close = Scope.close(scope, Exit.void)
    // a part that hangs at the end of a test hangs in virtual time
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        const closing = yield* Effect.fork(close)
        yield* TestClock.adjust("20 seconds")
        yield* Fiber.join(closing)
      })
    )
    const layer = Supervisor.layer(options).pipe(Layer.provide(Layer.merge(connector, setup.store ?? Layer.empty)))
    const build = Layer.buildWithScope(layer, scope)
    const services = yield* setup.clock === undefined ? build : Effect.withClock(build, setup.clock)
    const supervisor = Context.get(services, McpSupervisor)
    const events: Array<ServerEvent> = []
    yield* Effect.forkScoped(
      Stream.runForEach(supervisor.eventsFrom(1), (event) => Effect.sync(() => events.push(event)))
    )

    const eventsOf = <Type extends ServerEvent["type"]>(type: Type) =>
      events.filter((event): event is EventOf<Type> => event.type === type)
    const snapshot = (server: string) => Effect.zipRight(settle, Effect.orDie(supervisor.server(server)))
    const story = (prefix = "") =>
      Effect.map(Effect.zipRight(settle, fake.controls.journal), (entries) =>
        entries.map(FakeConnector.render).filter((line) => line.startsWith(prefix))
      )

    return {
      supervisor,
      fake,
      controls: fake.controls,
      events,
      eventsOf,
      snapshot,
      status: (server) => Effect.map(snapshot(server), ({ status }) => status),
      statuses: (server) =>
        eventsOf("StatusChanged")
          .filter((event) => event.server === server && event.from.status !== event.to.status)
          .map(({ to }) => to.status),
      awaitStatus: (server, wanted) => awaitStatus(supervisor, server, wanted),
      toolNames: Effect.map(Effect.zipRight(settle, supervisor.catalog), ({ tools }) => tools.map(({ name }) => name)),
      story,
      count: (line) => Effect.map(story(line), (lines) => lines.filter((each) => each === line).length),
      close
    }
  })

const awaitStatus = <Status extends ServerStatus["status"]>(supervisor: Shape, server: string, wanted: Status) => {
  const isWanted = (status: ServerStatus): status is StatusOf<Status> => status.status === wanted
  const found = supervisor.changes.pipe(
    Stream.filterMap((snapshots) =>
      Option.filter(Option.fromNullable(snapshots.find(({ name }) => name === server)?.status), isWanted)
    ),
    Stream.runHead,
    Effect.map(Option.getOrThrow)
  )
  return within(found, `${server} becomes ${wanted}`)
}

/** Fails after a short real time, instead of waiting forever in virtual time. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, what: string): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    effect,
    Effect.flatMap(TestServices.provideLive(Effect.sleep("30 seconds")), () => Effect.dieMessage(`never: ${what}`))
  )

/** The result of a forked effect that has ended. */
export const resultOf = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function* () {
    yield* settle
    const exit = yield* Fiber.poll(fiber)
    return Option.getOrThrowWith(exit, () => new Error("it is not over yet"))
  })

export const isOver = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<boolean> =>
  Effect.zipRight(settle, Effect.map(Fiber.poll(fiber), Option.isSome))

/** Runs an effect that must fail with this error, without time passing. */
export const failsWith = <A, E extends { readonly _tag: string }, R, Tag extends E["_tag"]>(
  effect: Effect.Effect<A, E, R>,
  tag: Tag
): Effect.Effect<Extract<E, { readonly _tag: Tag }>, never, R> =>
  Effect.map(within(Effect.exit(effect), `fails with ${tag}`), (exit) => failureOf(exit, tag))

/** The error of an exit, which must have this tag. */
export const failureOf = <A, E extends { readonly _tag: string }, Tag extends E["_tag"]>(
  exit: Exit.Exit<A, E>,
  tag: Tag
): Extract<E, { readonly _tag: Tag }> => {
  if (Exit.isSuccess(exit)) return assert.fail(`it succeeded with ${JSON.stringify(exit.value)}`)
  if (exit.cause._tag !== "Fail") return assert.fail(`it did not fail: ${exit.cause.toString()}`)
  assert.strictEqual(exit.cause.error._tag, tag, JSON.stringify(exit.cause.error))
  return exit.cause.error as Extract<E, { readonly _tag: Tag }>
}

/** Every random number is this value. */
export const withRandom = (value: number) => Effect.withRandom(Random.fixed([value]))

export const textOf = (result: Protocol.CallToolResult): string =>
  result.content.map((block) => ("text" in block ? String(block.text) : "")).join()

export const closed = (server = "a") => new Errors.ConnectionClosed({ server })
export const refused = (server = "a") => new Errors.NetworkFailed({ server, code: "ECONNREFUSED", permanent: false })
export const notFound = (server = "a") => new Errors.SpawnFailed({ server, command: "x", reason: "not_found" })

export const local = { command: "server" } as const
export const remote = { url: "https://example.com/mcp" } as const

/** A schema with one required string, `city`. */
export const citySchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const

export interface RecordedSpan extends Tracer.Span {
  readonly events: Array<string>
  /** Events that were added after the span ended. */
  readonly late: Array<string>
  readonly exits: Array<Exit.Exit<unknown, unknown>>
}

/** A tracer that keeps all spans. */
export const recordSpans = () => {
  const spans: Array<RecordedSpan> = []
  const tracer = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const id = String(spans.length + 1)
      const attributes = new Map<string, unknown>()
      const events: Array<string> = []
      const late: Array<string> = []
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      let status: Tracer.SpanStatus = { _tag: "Started", startTime }
      const span: RecordedSpan = {
        _tag: "Span",
        name,
        spanId: id.padStart(16, "0"),
        traceId: Option.match(parent, { onNone: () => id.padStart(32, "0"), onSome: ({ traceId }) => traceId }),
        parent,
        context: context ?? Context.empty(),
        get status() {
          return status
        },
        attributes,
        links,
        sampled: true,
        kind,
        events,
        late,
        exits,
        end: (endTime, exit) => {
          exits.push(exit)
          status = { _tag: "Ended", startTime, endTime, exit }
        },
        attribute: (key, value) => void attributes.set(key, value),
        event: (event) => void (status._tag === "Ended" ? late : events).push(event),
        addLinks: () => {}
      }
      spans.push(span)
      return span
    },
    context: (run) => run()
  })
  return { spans, tracer }
}

export interface RecordedLog {
  readonly message: string
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
}

/** A layer that records all log messages of every level. */
export const recordLogs = () => {
  const logs: Array<RecordedLog> = []
  const logger = Logger.make<unknown, void>(({ annotations, logLevel, message }) => {
    const text = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    logs.push({ message: text, level: logLevel.label, annotations: Object.fromEntries(HashMap.toEntries(annotations)) })
  })
  return { logs, layer: Layer.merge(Logger.add(logger), Logger.minimumLogLevel(LogLevel.All)) }
}
