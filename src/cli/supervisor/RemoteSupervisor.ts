/**
 * Implements `SupervisorHandle` with the control API of the running supervisor.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as ControlClient from "../../control/ControlClient.js"
import { PayloadTooLarge } from "../../control/ControlError.js"
import { ServerNotFound } from "../../domain/Errors.js"
import * as ServerName from "../../domain/server/ServerName.js"
import type { ServerEvent } from "../../domain/server/ServerEvent.js"
import { connect, type Daemon } from "../../daemon/discover.js"
import { CommandFailed } from "../failure.js"
import type { hostOf } from "./commandHost.js"
import type { HandleFailure, SupervisorHandle } from "./SupervisorHandle.js"

/** How long a supervisor may take to respond to a health request. Under load, it responds in a fraction of this. */
const healthTimeout = Duration.seconds(5)

/**
 * Connects to a supervisor after checking that it responds. Later requests have no time limit, so a suspended supervisor has to
 * be detected here.
 */
export const connectChecked = (
  daemon: Daemon,
  host: ReturnType<typeof hostOf>
): Effect.Effect<Client, HandleFailure, Scope.Scope> =>
  Effect.tap(connect(daemon, host), (client) =>
    client.system
      .health({})
      .pipe(
        Effect.mapError(explain(daemon)),
        Effect.timeoutFail({ duration: healthTimeout, onTimeout: () => unresponsive(daemon) })
      )
  )

/** How long to wait for the end of the event stream after a request failed: a supervisor that shuts down ends its streams. */
const streamEndTimeout = Duration.seconds(1)

export const make = (
  daemon: Daemon,
  host: ReturnType<typeof hostOf>
): Effect.Effect<SupervisorHandle, HandleFailure, Scope.Scope> =>
  Effect.map(connectChecked(daemon, host), (client): SupervisorHandle => {
    const path = (name: string) => ({ path: { name } })
    /** Sends a request for one server. Rejects `.` and `..`, which no server can have as name and which would change the URL. */
    const of = <A, E extends object>(name: string, send: (where: ReturnType<typeof path>) => Effect.Effect<A, E>) =>
      ServerName.isStep(name) ? Effect.fail(new ServerNotFound({ server: name })) : explained(send(path(name)))
    const all = { urlParams: {} }

    const explained = <A, E extends object, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.mapError(effect, explain(daemon))
    const explainedStream = <A, E extends object>(stream: Stream.Stream<A, E>) =>
      Stream.mapError(stream, explain(daemon))

    const servers = explained(client.servers.list({}))

    /** The servers now, then after each event. Events between the two are not missed. */
    const changes = Stream.unwrap(
      Effect.gen(function* () {
        const { epoch, latest } = yield* explained(position(client))
        const ended = yield* Deferred.make<void>()
        const triggers = client.events(`${epoch}-${latest}`).pipe(
          Stream.onEnd(Deferred.succeed(ended, undefined)),
          Stream.filter((message) => message._tag !== "Event" || message.event.type !== "CallSettled"),
          // many events cause one request per interval, and one after the last event
          Stream.buffer({ capacity: 1, strategy: "sliding" }),
          Stream.mapEffect(() => Effect.sleep(Duration.millis(50)))
        )
        // a supervisor that shuts down ends the event stream: then a failed request is the end, not an error
        const snapshots = Effect.catchAll(Effect.asSome(servers), (failure) =>
          Deferred.await(ended).pipe(
            Effect.as(Option.none()),
            Effect.timeoutFail({ duration: streamEndTimeout, onTimeout: () => failure })
          )
        )
        return Stream.concat(Stream.void, explainedStream(triggers)).pipe(
          Stream.mapEffect(() => snapshots),
          Stream.takeWhile(Option.isSome),
          Stream.map(({ value }) => value)
        )
      })
    )

    const events: SupervisorHandle["events"] = ({ follow, replay }) =>
      explainedStream(
        replay
          ? Stream.unwrap(
              Effect.map(position(client), ({ epoch, latest }) => replayed(client, epoch, follow ? undefined : latest))
            )
          : Stream.filterMap(client.events(), eventOf)
      )

    return {
      kind: "running",
      cwd: daemon.sources.cwd,
      servers,
      server: (name) => of(name, client.servers.get),
      changes,
      catalog: explained(
        Effect.all(
          {
            tools: client.catalog.tools(all),
            resources: client.catalog.resources(all),
            resourceTemplates: client.catalog.resourceTemplates(all),
            prompts: client.catalog.prompts(all)
          },
          { concurrency: 4 }
        )
      ),
      call: ({ name, server }, args, onProgress) =>
        explained(
          Effect.mapError(client.call(name, { server, arguments: { ...args } }, onProgress), (error) =>
            isResponseLost(error) ? lostCall(daemon) : error
          )
        ),
      read: (server, uri) => explained(client.catalog.read({ payload: { server, uri } })),
      prompt: (server, name, args) =>
        explained(client.catalog.prompt({ payload: { server, name, arguments: { ...args } } })),
      connect: (name) => of(name, client.mcp.connect),
      restart: (name) => of(name, client.mcp.restart),
      disconnect: (name) => of(name, client.mcp.disconnect),
      reload: explained(client.config.reload({})),
      logins: explained(client.auth.list({})),
      startLogin: (name) => of(name, client.auth.start),
      finishLogin: (name, url) => of(name, (where) => client.auth.finish({ ...where, payload: { url } })),
      logout: (name) => of(name, client.auth.forget),
      logs: (name, follow) =>
        follow && !ServerName.isStep(name)
          ? explainedStream(client.logs(name))
          : Stream.fromIterableEffect(of(name, client.servers.logs)),
      events
    }
  })

type Client = ControlClient.ControlClient

/** The current epoch and number of the newest event: the supervisor responds with them to an unknown event id. */
const position = (client: Client) =>
  client.events("0-0").pipe(
    Stream.runHead,
    Effect.flatMap((first) => {
      const id = Option.match(first, { onNone: () => "", onSome: (message) => message.id })
      const [epoch, latest] = id.split("-")
      return epoch === undefined || latest === undefined
        ? Effect.fail(new CommandFailed({ message: "the supervisor ended" }))
        : Effect.succeed({ epoch, latest: Number(latest) })
    })
  )

const replayed = (client: Client, epoch: string, until: number | undefined) => {
  if (until === 0) return Stream.empty
  const events = Stream.filterMap(client.events(`${epoch}-0`), eventOf)
  return until === undefined ? events : Stream.takeUntil(events, ({ seq }) => seq >= until)
}

const eventOf = (message: ControlClient.EventMessage): Option.Option<ServerEvent> => {
  if (message._tag === "Event") return Option.some(message.event)
  if (message._tag === "Reset") return Option.none()
  const { at, from, to } = message
  return Option.some({ seq: to, at, type: "Skipped", from, to })
}

/** Whether the request may have been executed although no valid response arrived. */
export const isResponseLost = (error: object): boolean => {
  const { _tag: tag, cause, reason } = error as Readonly<Record<string, unknown>>
  if (tag === "ResponseError" || tag === "InvalidResponse" || tag === "StreamCut") return true
  if (tag !== "RequestError" || reason !== "Transport") return false
  const code = Predicate.hasProperty(cause, "code") ? cause.code : undefined
  return code !== "ECONNREFUSED" && code !== "ENOENT"
}

const lostCall = ({ pid }: Daemon): HandleFailure => ({
  _tag: "OutcomeUnknown",
  message: `the supervisor (process ${pid}) sent no valid response; the call may have been executed; check before you repeat it`
})

const startAgain = "start it again: mcp-supervisor stop; mcp-supervisor start"

const notResponding = ({ address, pid, socket }: Daemon): string =>
  `the supervisor (process ${pid}) does not respond at ${socket ?? address}`

const unresponsive = (daemon: Daemon) =>
  new CommandFailed({
    message: `${notResponding(daemon)}; if it is suspended, resume it: kill -CONT ${daemon.pid}; otherwise ${startAgain}`
  })

/** Turns an error of the client into one whose message says what to do. */
const explain =
  (daemon: Daemon) =>
  (error: object): HandleFailure => {
    const { _tag: tag, message } = error as { readonly _tag?: unknown; readonly message?: unknown }
    if (error instanceof ServerNotFound) return error
    if (tag === "RequestError" || tag === "ResponseError") {
      return new CommandFailed({ message: `${notResponding(daemon)}; ${startAgain}` })
    }
    if (tag === "Unauthorized") {
      return new CommandFailed({
        message: `the token in the state directory has changed since the supervisor (process ${daemon.pid}) started; ${startAgain}`
      })
    }
    if (error instanceof PayloadTooLarge) {
      return new CommandFailed({
        message: `a running supervisor accepts at most ${error.limit} bytes; --standalone has no such limit`
      })
    }
    if (tag === "ParseError" || tag === "HttpApiDecodeError") {
      return new CommandFailed({
        message: `the response from ${daemon.address} is not of a supervisor of this version`
      })
    }
    return Predicate.isString(tag) && Predicate.isString(message)
      ? { _tag: tag, message }
      : new CommandFailed({ message: "the supervisor sent no valid response" })
  }
