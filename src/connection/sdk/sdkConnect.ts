/**
 * Opens the wire for a config, negotiates the protocol revision, and runs the handshake. The result is a session.
 */
import {
  Client,
  ProtocolError as SdkProtocolError,
  SdkError,
  SdkErrorCode,
  type VersionNegotiationOptions
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConnectionError, ConnectTimeout, HttpFailed } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { scrubDeep } from "../../domain/internal/scrubDeep.js"
import type { Local, Remote } from "../../domain/server/ServerConfig.js"
import * as CallTable from "../session/CallTable.js"
import type { ConnectOptions } from "../Connector.js"
import * as HttpWire from "../http/HttpWire.js"
import { afterReading } from "../wire/Intake.js"
import type { ConnectorContext } from "../ConnectorContext.js"
import { httpOptions, openStdio } from "../wire/openWire.js"
import * as SseWire from "../http/SseWire.js"
import type { Info, Session } from "../Session.js"
import { type SessionState, make as makeAttempt, type WireListener } from "../session/SessionState.js"
import * as Classify from "./sdkClassify.js"
import * as SdkHandlers from "./sdkHandlers.js"
import { type SdkChannel, never } from "./sdkRequests.js"
import * as SdkSession from "./sdkSession.js"
import { listenForChanges } from "./sdkSubscriptions.js"
import * as SdkTransport from "./sdkTransport.js"
import type { Wire } from "../wire/Wire.js"

export { makeConnectorContext } from "../ConnectorContext.js"

/** Connects to a server. The attempt has its own scope within the caller's; if it fails, this scope is closed first. */
export const connect = (
  host: ConnectorContext,
  options: ConnectOptions
): Effect.Effect<Session, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { close, scope } = yield* host.scopes.fork
    return yield* open(host, options).pipe(
      Scope.extend(scope),
      Effect.tapError(() => close)
    )
  })

const open = (host: ConnectorContext, options: ConnectOptions) =>
  Effect.gen(function* () {
    const { config, server } = options
    const attempt = yield* makeAttempt(options)
    const timedOut = () =>
      new ConnectTimeout({ server, phase: attempt.phase() ?? "handshake", after: config.timeout.connect })
    const greeted = yield* (
      config._tag === "Local" ? local(host, attempt, config) : remote(host, attempt, config)
    ).pipe(
      Effect.mapError((thrown) => Classify.connectionError(attempt.classify(), thrown)),
      // If this process was paused, the response may have arrived in time: it is read before the timeout counts.
      (greet) => Effect.raceFirst(greet, Effect.zipRight(Effect.sleep(config.timeout.connect), awaitReading)),
      Effect.flatMap((greeted) => (greeted === undefined ? Effect.fail(timedOut()) : Effect.succeed(greeted)))
    )
    attempt.succeeded()
    return yield* sessionOf(host, attempt, greeted)
  })

/** Completes when everything that has arrived so far is read. */
const awaitReading = Effect.async<undefined>((resume) =>
  Effect.sync(afterReading(() => resume(Effect.succeed(undefined))))
)

/** A client that has completed the handshake. */
interface Greeted {
  readonly client: Client
  readonly transport: SdkTransport.SdkTransport
  readonly wire: Wire
}

const legacy: VersionNegotiationOptions = { mode: "legacy" }
const modern: VersionNegotiationOptions = { mode: { pin: Protocol.modernRevisions[0] }, probe: { timeoutMs: never } }

/** Runs the handshake. Fails with the thrown value, unclassified. */
const handshake = (
  host: ConnectorContext,
  attempt: SessionState,
  wire: Wire,
  versionNegotiation: VersionNegotiationOptions
): Effect.Effect<Greeted, unknown> =>
  Effect.async<Greeted, unknown>((resume) => {
    const transport = SdkTransport.make(wire, attempt.warn)
    const client = new Client(host.clientInfo, {
      capabilities: SdkHandlers.capabilities(attempt.options.handlers ?? {}),
      versionNegotiation
    })
    // Errors outside of requests concern late responses and the like.
    client.onerror = () => {}
    attempt.answering.install(client)
    attempt.receive({ message: transport.deliver, closed: transport.end, awaits: transport.awaits })
    client.connect(transport, { timeout: never }).then(
      () => resume(Effect.succeed({ client, transport, wire })),
      (thrown: unknown) => resume(Effect.fail(thrown))
    )
    return Effect.sync(transport.end)
  })

/**
 * Connects to a local server. The legacy handshake comes first: most servers support it, and a modern one refuses it without
 * having to be restarted.
 */
const local = (host: ConnectorContext, attempt: SessionState, config: Local) =>
  Effect.gen(function* () {
    yield* attempt.reached("spawn")
    const events = attempt.events()
    const { server } = attempt.options
    const wire = yield* openStdio(host, config, { ...attempt, server, events })
    yield* attempt.reached("handshake")
    const shake = (negotiation: VersionNegotiationOptions) => handshake(host, attempt, wire, negotiation)
    const ways = {
      "2026-07-28": shake(modern),
      legacy: shake(legacy),
      auto: Effect.catchIf(shake(legacy), isModernOnly, () => shake(modern))
    }
    return yield* adoptAfter(events, ways[config.protocol])
  })

/** Adopts the wire after the handshake. If the wire closes during it, its reason is reported, since it says more. */
const adoptAfter = (events: WireListener, greet: Effect.Effect<Greeted, unknown>) =>
  Effect.zipLeft(Effect.raceFirst(greet, events.died), events.adopt)

const isModernOnly = (thrown: unknown): boolean =>
  thrown instanceof SdkProtocolError &&
  (thrown.code === Protocol.errorCodes.UnsupportedProtocolVersion || thrown.code === Protocol.errorCodes.MethodNotFound)

const remote = (
  host: ConnectorContext,
  attempt: SessionState,
  config: Remote
): Effect.Effect<Greeted, unknown, Scope.Scope> => {
  const streamable = greetOver(host, attempt, config, HttpWire.open, (wire) =>
    greetOverHttp(host, attempt, config, wire)
  )
  const sse = greetOver(host, attempt, config, SseWire.open, (wire) => handshake(host, attempt, wire, legacy))
  const way = {
    http: streamable,
    sse,
    auto: Effect.catchIf(streamable, isOlderServer, (first) =>
      Effect.mapError(sse, (second) => bothFailed(attempt, first.failure.reason as HttpFailed, second))
    )
  }
  return Effect.zipRight(attempt.reached("handshake"), way[config.transport])
}

/** Opens a wire in its own scope, which is closed if the handshake fails. */
const greetOver = <E>(
  host: ConnectorContext,
  attempt: SessionState,
  config: Remote,
  open: (options: HttpWire.Options) => Effect.Effect<Wire, E, Scope.Scope>,
  greet: (wire: Wire) => Effect.Effect<Greeted, unknown>
): Effect.Effect<Greeted, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const events = attempt.events()
    const scope = yield* Effect.flatMap(Effect.scope, (parent) => Scope.fork(parent, ExecutionStrategy.sequential))
    const { scrub, scrubBeginning } = attempt
    const { server } = attempt.options
    const { credentials } = attempt.options
    const options = httpOptions(host, config, { server, scrub, scrubBeginning, events, credentials })
    return yield* Effect.flatMap(Effect.flatMap(options, open), (wire) => adoptAfter(events, greet(wire))).pipe(
      Scope.extend(scope),
      Effect.tapError(() =>
        Effect.suspend(() => {
          events.detach()
          return Scope.close(scope, Exit.void)
        })
      )
    )
  })

/**
 * Runs the handshake over HTTP. A modern server answers one probe; an older one refuses it or does not respond, and gets the
 * legacy handshake.
 */
const greetOverHttp = (host: ConnectorContext, attempt: SessionState, config: Remote, wire: Wire) => {
  if (config.protocol === "legacy") return handshake(host, attempt, wire, legacy)
  if (config.protocol === "2026-07-28") return handshake(host, attempt, wire, modern)
  const timeoutMs = Math.min(probeTimeout, config.timeout.connect / 2)
  return Effect.catchIf(handshake(host, attempt, wire, { mode: "auto", probe: { timeoutMs } }), isTimeout, () =>
    handshake(host, attempt, wire, legacy)
  )
}

/** Milliseconds. The maximum wait for the response to the probe. */
const probeTimeout = 10_000

const isTimeout = (thrown: unknown): boolean =>
  thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout

/** Whether `initialize` was refused with a status that servers of the older transport return. */
const isOlderServer = (thrown: unknown): thrown is SdkTransport.GreetingRefused =>
  thrown instanceof SdkTransport.GreetingRefused &&
  thrown.failure.reason._tag === "HttpFailed" &&
  [400, 404, 405].includes(thrown.failure.reason.status)

/** Combines both failures. The first one decides, unless the second says that a login is required. */
const bothFailed = (attempt: SessionState, first: HttpFailed, thrown: unknown): ConnectionError => {
  const second = Classify.connectionError(attempt.classify(), thrown)
  if (second._tag === "AuthRequired") return second
  const { detail, retryAfter, server, status } = first
  const also = `over SSE: ${second.message}`
  return new HttpFailed({
    server,
    status,
    detail: detail === undefined ? also : `${detail}; ${also}`,
    ...defined({ retryAfter })
  })
}

const sessionOf = (host: ConnectorContext, attempt: SessionState, { client, transport, wire }: Greeted) =>
  Effect.gen(function* () {
    const { clocks, options, scrub } = attempt
    const { config, server } = options
    const era = client.getProtocolEra() ?? "legacy"
    const calls = CallTable.make({ server, wire, clocks, scrub, scrubBeginning: attempt.scrubBeginning })
    const channel: SdkChannel = {
      server,
      config,
      client,
      era,
      clocks,
      steadyClocks: host.steadyClocks,
      limits: { idle: config.timeout.call, total: config.timeout.total },
      transport: wire.transport,
      classify: attempt.classify
    }
    attempt.receive({
      awaits: (id) => calls.awaits(id) || transport.awaits(id),
      message: (message, text) => {
        if (!calls.accept(message)) transport.deliver(message, text)
      },
      closed: (reason) => {
        calls.abandon(reason)
        transport.end()
      }
    })
    yield* Effect.addFinalizer(() => attempt.leave)
    yield* attempt.answering.announceRoots(client).pipe(Effect.interruptible, Effect.forkScoped)
    if (era === "modern") {
      yield* listenForChanges(channel, attempt.setPush).pipe(Effect.interruptible, Effect.forkScoped)
    } else if (wire.transport === "stdio") {
      attempt.setPush("open")
    }
    return SdkSession.make({ ...attempt, channel, info: infoOf(client, era, wire, scrub), calls })
  })

/** The server's information about itself. It may repeat secrets of the config, so these are removed. */
const infoOf = (client: Client, era: Protocol.Era, wire: Wire, scrub: (text: string) => string): Info => {
  const clean = <A>(value: A): A => (value === undefined ? value : (scrubDeep(value, scrub) as A))
  return {
    transport: wire.transport,
    era,
    protocolVersion: client.getNegotiatedProtocolVersion() ?? "",
    capabilities: { ...clean(client.getServerCapabilities()) },
    ...defined({
      serverInfo: clean(client.getServerVersion()),
      instructions: clean(client.getInstructions()),
      pid: wire.pid
    })
  }
}
