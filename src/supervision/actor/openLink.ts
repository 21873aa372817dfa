/**
 * Runs one attempt to open a link: waits for its turn, connects and fetches the server's lists.
 */
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ProvidedHeaders from "../../auth/providedHeaders.js"
import type { RedactedHeaders } from "../../auth/providedHeaders.js"
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

export interface LinkAttempt {
  readonly server: string
  readonly generation: number
  readonly config: ServerConfig
  readonly roots: StateCell<ReadonlyArray<string>>
  /** Called when the attempt's turn has come. From then on there may be resources to close. */
  readonly onStart: () => void
  readonly onPhase: (phase: AttemptPhase) => void
  readonly onLog: (line: Protocol.LogLine) => void
}

export const openLink = (
  context: SupervisorContext,
  attempt: LinkAttempt
): Effect.Effect<Link.Link, ConnectionError, Scope.Scope> =>
  Effect.suspend(() => {
    const { config, generation, server } = attempt
    const dial: DialState = { config }
    const turns = config._tag === "Local" ? context.spawns : context.dials
    return turns.take(open(context, attempt, dial)).pipe(
      // Contained inside the span, so that the span records the error.
      contain(server, () => dial.config),
      Effect.withSpan("ServerActor.connect", {
        root: true,
        captureStackTrace: false,
        attributes: { "mcp.server": server, "mcp.attempt": generation }
      })
    )
  })

/** The config that is really used: the server's config plus the headers of the `headers` option. */
interface DialState {
  config: ServerConfig
}

const open = (
  context: SupervisorContext,
  attempt: LinkAttempt,
  dial: DialState
): Effect.Effect<Link.Link, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { config, generation, onPhase, onStart, server } = attempt
    onStart()
    const now = () => monotonic(context.clock)
    const deadline = now() + config.timeout.connect
    const scope = yield* Effect.scope
    const session = yield* connect(context, attempt, dial)
    onPhase("discover")
    const lists = yield* fetchLists(session).pipe(
      Effect.mapError((error) => toConnectionError(server, error)),
      Effect.timeoutFail({
        duration: Math.max(1, deadline - now()),
        onTimeout: () => new ConnectTimeout({ server, phase: "discover", after: config.timeout.connect })
      })
    )
    return Link.make({ server, generation, config, dialled: dial.config, session, scope, now, lists })
  })

const connect = (
  context: SupervisorContext,
  attempt: LinkAttempt,
  dial: DialState
): Effect.Effect<Session, ConnectionError, Scope.Scope> => {
  const { config, onLog, onPhase, roots, server } = attempt
  const { auth, headers } = context
  const connectWith = (credentials?: Credentials | undefined) =>
    context.connector.connect({
      server,
      config: dial.config,
      credentials,
      handlers: { ...context.handlers, roots: Stream.map(roots.changes, toRoots) },
      onPhase: (phase) => Effect.sync(() => onPhase(phase)),
      onLog
    })
  if (config._tag === "Local") return Effect.suspend(connectWith)
  if (headers === undefined) return Effect.flatMap(auth.credentialsFor(server, config), connectWith)
  const provided = ProvidedHeaders.make(server, (reason) => headers(server, reason))
  const after = config.timeout.connect
  const deadline = monotonic(context.clock) + after
  const remainingTime = () => Math.max(1, deadline - monotonic(context.clock))
  const withinDeadline = <A>(ask: Effect.Effect<A>) =>
    Effect.suspend(() =>
      Effect.timeoutFail(ask, {
        duration: remainingTime(),
        onTimeout: () => new ConnectTimeout({ server, phase: "handshake", after })
      })
    )
  const connectWithHeaders = (headers: RedactedHeaders) =>
    Effect.suspend(() => {
      const timeout = { ...config.timeout, connect: remainingTime() }
      dial.config = { ...config, timeout, headers: { ...config.headers, ...headers } }
      return Effect.flatMap(auth.credentialsFor(server, config, provided), connectWith)
    })
  return Effect.catchTag(Effect.flatMap(withinDeadline(provided.ask), connectWithHeaders), "AuthRequired", (error) =>
    // A connector that sends these credentials has already asked for new headers itself; then `askAgain` returns nothing
    // new.
    Effect.flatMap(withinDeadline(provided.askAgain), (more) =>
      more === undefined ? Effect.fail(error) : connectWithHeaders(more)
    )
  )
}

const toRoots = (directories: ReadonlyArray<string>): ReadonlyArray<Protocol.Root> =>
  directories.map((directory) => ({ uri: pathToFileURL(directory).href }))
