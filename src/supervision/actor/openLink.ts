/**
 * One attempt to connect: from the wait for its turn until the server's lists are there.
 */
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { givenHeaders } from "../../auth/Auth.js"
import type { Headers } from "../../auth/providedHeaders.js"
import type { Credentials } from "../../connection/Credentials.js"
import type { Session } from "../../connection/Session.js"
import { type ConnectionError, ConnectTimeout } from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import type { StateCell } from "../../system/stream/StateCell.js"
import { fetchLists, toConnectionError } from "./fetchLists.js"
import { contain } from "../faults.js"
import { type SupervisorContext, monotonic } from "../SupervisorContext.js"
import * as Link from "./Link.js"

export interface Attempt {
  readonly server: string
  readonly generation: number
  readonly config: ServerConfig
  readonly roots: StateCell<ReadonlyArray<string>>
  /** Told when its turn has come: from then on there may be something to close. */
  readonly onBegin: () => void
  readonly onPhase: (phase: AttemptPhase) => void
  readonly onLog: (line: Protocol.LogLine) => void
}

export const openLink = (
  context: SupervisorContext,
  attempt: Attempt
): Effect.Effect<Link.Link, ConnectionError, Scope.Scope> =>
  Effect.suspend(() => {
    const { config, generation, server } = attempt
    const dial: Dial = { config }
    const turns = config._tag === "Local" ? context.spawns : context.dials
    return turns.take(open(context, attempt, dial)).pipe(
      // before the span ends, which is told why
      contain(server, () => dial.config),
      Effect.withSpan("ServerActor.connect", {
        root: true,
        captureStackTrace: false,
        attributes: { "mcp.server": server, "mcp.attempt": generation }
      })
    )
  })

/** What is really dialled: the config, and headers that were asked for. */
interface Dial {
  config: ServerConfig
}

const open = (
  context: SupervisorContext,
  attempt: Attempt,
  dial: Dial
): Effect.Effect<Link.Link, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { config, generation, onBegin, onPhase, server } = attempt
    onBegin()
    const now = () => monotonic(context.clock)
    const deadline = now() + config.timeout.connect
    const scope = yield* Effect.scope
    const session = yield* connect(context, attempt, dial)
    onPhase("discover")
    const found = yield* fetchLists(session).pipe(
      Effect.mapError((error) => toConnectionError(server, error)),
      Effect.timeoutFail({
        duration: Math.max(1, deadline - now()),
        onTimeout: () => new ConnectTimeout({ server, phase: "discover", after: config.timeout.connect })
      })
    )
    return Link.make({ server, generation, config, dialled: dial.config, session, scope, now, found })
  })

const connect = (
  context: SupervisorContext,
  attempt: Attempt,
  dial: Dial
): Effect.Effect<Session, ConnectionError, Scope.Scope> => {
  const { config, onLog, onPhase, roots, server } = attempt
  const { auth, headers } = context
  const reach = (credentials?: Credentials | undefined) =>
    context.connector.connect({
      server,
      config: dial.config,
      credentials,
      handlers: { ...context.handlers, roots: Stream.map(roots.changes, toRoots) },
      onPhase: (phase) => Effect.sync(() => onPhase(phase)),
      onLog
    })
  if (config._tag === "Local") return Effect.suspend(reach)
  if (headers === undefined) return Effect.flatMap(auth.credentialsFor(server, config), reach)
  const given = givenHeaders(server, (reason) => headers(server, reason))
  const after = config.timeout.connect
  const deadline = monotonic(context.clock) + after
  const left = () => Math.max(1, deadline - monotonic(context.clock))
  const timely = <A>(ask: Effect.Effect<A>) =>
    Effect.suspend(() =>
      Effect.timeoutFail(ask, {
        duration: left(),
        onTimeout: () => new ConnectTimeout({ server, phase: "handshake", after })
      })
    )
  const reachWith = (more: Headers) =>
    Effect.suspend(() => {
      const timeout = { ...config.timeout, connect: left() }
      dial.config = { ...config, timeout, headers: { ...config.headers, ...more } }
      return Effect.flatMap(auth.credentialsFor(server, config, given), reach)
    })
  return Effect.catchTag(Effect.flatMap(timely(given.ask), reachWith), "AuthRequired", (refused) =>
    // a connector that shows what it is given has asked again itself
    Effect.flatMap(timely(given.askAgain), (more) => (more === undefined ? Effect.fail(refused) : reachWith(more)))
  )
}

const toRoots = (directories: ReadonlyArray<string>): ReadonlyArray<Protocol.Root> =>
  directories.map((directory) => ({ uri: pathToFileURL(directory).href }))
