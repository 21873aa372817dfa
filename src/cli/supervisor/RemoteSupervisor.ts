/**
 * The supervisor that runs in the background, through its control API.
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

/** Whoever is well answers in a small part of it, also with much to do. */
const patience = Duration.seconds(5)

/**
 * A client of a supervisor that answers. That is found out with a question that has an answer at once: what is asked afterwards
 * may take as long as it takes.
 */
export const reached = (
  daemon: Daemon,
  host: ReturnType<typeof hostOf>
): Effect.Effect<Client, HandleFailure, Scope.Scope> =>
  Effect.tap(connect(daemon, host), (client) =>
    client.system
      .health({})
      .pipe(
        Effect.mapError(understood(daemon)),
        Effect.timeoutFail({ duration: patience, onTimeout: () => silent(daemon) })
      )
  )

/** Within this, whoever has stopped to answer has said goodbye. */
const farewell = Duration.seconds(1)

export const make = (
  daemon: Daemon,
  host: ReturnType<typeof hostOf>
): Effect.Effect<SupervisorHandle, HandleFailure, Scope.Scope> =>
  Effect.map(reached(daemon, host), (client): SupervisorHandle => {
    const path = (name: string) => ({ path: { name } })
    /** Asks for something of one server, unless none can have that name and the address would be another's. */
    const of = <A, E extends object>(name: string, ask: (where: ReturnType<typeof path>) => Effect.Effect<A, E>) =>
      ServerName.isStep(name) ? Effect.fail(new ServerNotFound({ server: name })) : told(ask(path(name)))
    const all = { urlParams: {} }

    const told = <A, E extends object, R>(effect: Effect.Effect<A, E, R>) => Effect.mapError(effect, understood(daemon))
    const toldAll = <A, E extends object>(stream: Stream.Stream<A, E>) => Stream.mapError(stream, understood(daemon))

    const servers = told(client.servers.list({}))

    /** The servers at the beginning, then with each event. None is missed in between. */
    const changes = Stream.unwrap(
      Effect.gen(function* () {
        const { epoch, latest } = yield* told(position(client))
        const ended = yield* Deferred.make<void>()
        const occasions = client.events(`${epoch}-${latest}`).pipe(
          Stream.onEnd(Deferred.succeed(ended, undefined)),
          Stream.filter((message) => message._tag !== "Event" || message.event.type !== "CallSettled"),
          // however much happens, it is looked at now and then, and once more after the last of it
          Stream.buffer({ capacity: 1, strategy: "sliding" }),
          Stream.mapEffect(() => Effect.sleep(Duration.millis(50)))
        )
        // who ends in order ends the events as well; there is nobody to be asked any more
        const shown = Effect.catchAll(Effect.asSome(servers), (failure) =>
          Deferred.await(ended).pipe(
            Effect.as(Option.none()),
            Effect.timeoutFail({ duration: farewell, onTimeout: () => failure })
          )
        )
        return Stream.concat(Stream.void, toldAll(occasions)).pipe(
          Stream.mapEffect(() => shown),
          Stream.takeWhile(Option.isSome),
          Stream.map(({ value }) => value)
        )
      })
    )

    const events: SupervisorHandle["events"] = ({ follow, replay }) =>
      toldAll(
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
      catalog: told(
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
        told(
          Effect.mapError(client.call(name, { server, arguments: { ...args } }, onProgress), (error) =>
            isLost(error) ? lostCall(daemon) : error
          )
        ),
      read: (server, uri) => told(client.catalog.read({ payload: { server, uri } })),
      prompt: (server, name, args) =>
        told(client.catalog.prompt({ payload: { server, name, arguments: { ...args } } })),
      connect: (name) => of(name, client.mcp.connect),
      restart: (name) => of(name, client.mcp.restart),
      disconnect: (name) => of(name, client.mcp.disconnect),
      reload: told(client.config.reload({})),
      logins: told(client.auth.list({})),
      startLogin: (name) => of(name, client.auth.start),
      finishLogin: (name, url) => of(name, (where) => client.auth.finish({ ...where, payload: { url } })),
      logout: (name) => of(name, client.auth.forget),
      logs: (name, follow) =>
        follow && !ServerName.isStep(name)
          ? toldAll(client.logs(name))
          : Stream.fromIterableEffect(of(name, client.servers.logs)),
      events
    }
  })

type Client = ControlClient.ControlClient

/** An id of nobody is answered with where the supervisor is. */
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

/** Whether a request may have arrived though no answer came that can be read. */
export const isLost = (error: object): boolean => {
  const { _tag: tag, cause, reason } = error as Readonly<Record<string, unknown>>
  if (tag === "ResponseError" || tag === "UnknownAnswer" || tag === "CutOff") return true
  if (tag !== "RequestError" || reason !== "Transport") return false
  const code = Predicate.hasProperty(cause, "code") ? cause.code : undefined
  return code !== "ECONNREFUSED" && code !== "ENOENT"
}

const lostCall = ({ pid }: Daemon): HandleFailure => ({
  _tag: "OutcomeUnknown",
  message: `the supervisor (process ${pid}) gave no answer that can be read, the call may have been executed; check before you repeat it`
})

const startAgain = "start it again: mcp-supervisor stop; mcp-supervisor start"

const noAnswer = ({ address, pid, socket }: Daemon): string =>
  `the supervisor (process ${pid}) does not answer at ${socket ?? address}`

const silent = (daemon: Daemon) =>
  new CommandFailed({
    message: `${noAnswer(daemon)}; if it is suspended, wake it: kill -CONT ${daemon.pid}; else ${startAgain}`
  })

/** What the connection says, in words that say what to do. */
const understood =
  (daemon: Daemon) =>
  (error: object): HandleFailure => {
    const { _tag: tag, message } = error as { readonly _tag?: unknown; readonly message?: unknown }
    if (error instanceof ServerNotFound) return error
    if (tag === "RequestError" || tag === "ResponseError") {
      return new CommandFailed({ message: `${noAnswer(daemon)}; ${startAgain}` })
    }
    if (tag === "Unauthorized") {
      return new CommandFailed({
        message: `the token in the state directory has changed since the supervisor (process ${daemon.pid}) started; ${startAgain}`
      })
    }
    if (error instanceof PayloadTooLarge) {
      return new CommandFailed({
        message: `a running supervisor takes at most ${error.limit} bytes at once; --standalone has no such limit`
      })
    }
    if (tag === "ParseError" || tag === "HttpApiDecodeError") {
      return new CommandFailed({ message: `what answers at ${daemon.address} is no supervisor of this version` })
    }
    return Predicate.isString(tag) && Predicate.isString(message)
      ? { _tag: tag, message }
      : new CommandFailed({ message: "the supervisor gave no answer" })
  }
