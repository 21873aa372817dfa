/**
 * Implements the routes of the control API: each one calls the supervisor, the logins or the config files.
 */
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { McpAuth } from "../../auth/McpAuth.js"
import { toMillis } from "../../domain/server/ServerConfig/Input.js"
import { defined } from "../../domain/internal/defined.js"
import type * as Errors from "../../domain/Errors.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { CallToolResult, LogLine, Progress } from "../../domain/catalog/Protocol.js"
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import type { ServerStatus } from "../../domain/server/ServerStatus.js"
import { version } from "../../domain/internal/version.js"
import { type CallOptions, McpSupervisor } from "../../supervision/model.js"
import { withBody } from "./body.js"
import { ConfigAccess } from "./ConfigAccess.js"
import { ControlApi, revision } from "../ControlApi.js"
import { callErrors } from "../ControlError.js"
import type { EventFeed } from "./EventFeed.js"
import * as Fault from "./fault.js"
import * as LongList from "./longList.js"
import { render } from "./metricsText.js"
import * as Payload from "../Payload.js"
import * as Sse from "../sse.js"

const mcp = HttpApiBuilder.group(ControlApi, "mcp", (handlers) =>
  Effect.gen(function* () {
    const supervisor = yield* McpSupervisor
    const config = yield* ConfigAccess

    const statuses = Effect.map(supervisor.servers, (servers) =>
      Object.fromEntries(servers.map(({ name, status }) => [name, status]))
    )
    const statusOf = (name: string) => Effect.map(supervisor.server(name), ({ status }) => status)

    return handlers
      .handle("list", () => statuses)
      .handleRaw(
        "add",
        withBody(Payload.Add, ({ payload }) => {
          const { name, persist = false } = payload
          // the supervisor or the config file validates the entry
          const entry = payload.config as ServerConfig.Input
          // an error in another file does not matter if the new server was loaded
          const reload = Effect.catchTag(config.reload, "InvalidConfig", (error) =>
            Effect.mapError(supervisor.server(name), () => error)
          )
          const addDynamic = Effect.flatMap(config.directory ?? Effect.succeed(undefined), (directory) =>
            supervisor.add(name, inDirectory(entry, directory))
          )
          const addServer = persist ? Effect.asVoid(Effect.zipRight(config.add(name, entry), reload)) : addDynamic
          return Effect.zipRight(addServer, statuses)
        })
      )
      .handle("connect", ({ path }) => supervisor.connect(path.name))
      .handle("restart", ({ path }) => supervisor.restart(path.name))
      .handle("disconnect", ({ path }) => Effect.zipRight(supervisor.disconnect(path.name), statusOf(path.name)))
      .handle("enable", ({ path }) => Effect.zipRight(supervisor.enable(path.name), statusOf(path.name)))
      .handle("disable", ({ path }) => Effect.zipRight(supervisor.disable(path.name), statusOf(path.name)))
      .handle("remove", ({ path }) => Effect.as(supervisor.remove(path.name), removed))
  })
)

/** Adds the directory to a local entry without `cwd`: the supervisor may have been started in a project that is not trusted. */
const inDirectory = (entry: ServerConfig.Input, cwd: string | undefined): ServerConfig.Input =>
  cwd !== undefined && Predicate.isRecord(entry) && "command" in entry && !("cwd" in entry) ? { ...entry, cwd } : entry

/** The status in the response of `remove`. A removed server has no status; nothing of it runs. */
const removed: ServerStatus = { status: "disabled", by: "command", hint: "it was removed; add it again" }

const auth = HttpApiBuilder.group(ControlApi, "auth", (handlers) =>
  Effect.gen(function* () {
    const supervisor = yield* McpSupervisor
    const logins = yield* McpAuth

    const list = Effect.flatMap(supervisor.servers, (servers) =>
      Effect.forEach(
        servers.filter(({ transport }) => transport !== "stdio"),
        ({ name, status }) =>
          logins.status(name).pipe(
            Effect.map((login): ReadonlyArray<Payload.Login> => [{ server: name, login, status }]),
            // the server was removed in the meantime
            Effect.orElseSucceed(() => [])
          ),
        { concurrency: 8 }
      )
    )

    return handlers
      .handle("start", ({ path }) => logins.startLogin(path.name))
      .handleRaw(
        "finish",
        withBody(Payload.Callback, ({ path, payload }) =>
          logins.finishLogin(
            path.name,
            "url" in payload ? payload.url : new URLSearchParams(defined(payload) as Record<string, string>)
          )
        )
      )
      .handle("forget", ({ path }) =>
        Effect.zipRight(
          logins.logout(path.name),
          Effect.map(supervisor.server(path.name), ({ status }) => status)
        )
      )
      .handle("list", () => Effect.map(list, (logins) => logins.flat()))
  })
)

const encodeLine = Schema.encodeSync(Schema.parseJson(LogLine))

const servers = (feed: EventFeed) =>
  HttpApiBuilder.group(ControlApi, "servers", (handlers) =>
    Effect.gen(function* () {
      const supervisor = yield* McpSupervisor
      return handlers
        .handle("list", () => supervisor.servers)
        .handle("get", ({ path }) => supervisor.server(path.name))
        .handleRaw("logs", ({ path, request }) =>
          Effect.gen(function* () {
            yield* supervisor.server(path.name)
            // a server that is removed while its logs are read ends the stream
            const lines = Stream.catchAll(supervisor.logs(path.name), () => Stream.empty)
            if (!wantsEvents(request)) return yield* bufferedLines(lines)
            const texts = Stream.map(lines, (line) => Sse.render({ event: "log", data: encodeLine(line) }))
            return eventStream(feed.stream(texts))
          })
        )
    })
  )

const wantsEvents = ({ headers }: HttpServerRequest): boolean =>
  (headers.accept ?? "")
    .split(",")
    .some((type) => /^\s*text\/event-stream\s*(?:;|$)/i.test(type) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(type))

const encodeLines = Schema.encodeSync(Schema.Array(LogLine))

/**
 * Responds with the lines written until now, without waiting for new ones: a stream of lines does not say where the past
 * ends. A server that writes continuously does not delay the response.
 */
const bufferedLines = (lines: Stream.Stream<LogLine>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const past = Stream.take(
        Stream.takeWhile(lines, ({ at }) => at <= now),
        maxLines
      )
      const pull = yield* Stream.toPull(past)
      const written: Array<LogLine> = []
      do {
        const next = yield* pull.pipe(Effect.timeoutOption(waitForLines), Effect.option)
        if (Option.isNone(next) || Option.isNone(next.value)) break
        for (const line of next.value.value) written.push(line)
      } while ((yield* Clock.currentTimeMillis) < now + waitForAllMs)
      return HttpServerResponse.unsafeJson(encodeLines(written))
    })
  )

/** The number of lines that are kept per server. */
const maxLines = 1000

const waitForAllMs = 1000

const waitForLines = "25 millis"

const eventStream = (body: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(body, { contentType: "text/event-stream", headers: { "x-accel-buffering": "no" } })

const catalog = (feed: EventFeed) =>
  HttpApiBuilder.group(ControlApi, "catalog", (handlers) =>
    Effect.gen(function* () {
      const supervisor = yield* McpSupervisor
      const catalogOf = ({ agent }: { readonly agent?: string | undefined }) =>
        agent === undefined ? supervisor.catalog : supervisor.catalogFor(agent)
      return handlers
        .handle("tools", ({ urlParams }) => Effect.flatMap(catalogOf(urlParams), ({ tools }) => listOf.tools(tools)))
        .handle("resources", ({ urlParams }) =>
          Effect.flatMap(catalogOf(urlParams), ({ resources }) => listOf.resources(resources))
        )
        .handle("resourceTemplates", ({ urlParams }) =>
          Effect.flatMap(catalogOf(urlParams), ({ resourceTemplates }) => listOf.resourceTemplates(resourceTemplates))
        )
        .handle("prompts", ({ urlParams }) =>
          Effect.flatMap(catalogOf(urlParams), ({ prompts }) => listOf.prompts(prompts))
        )
        .handleRaw(
          "call",
          withBody(Payload.Call, ({ path, payload, request }) => {
            const { idleTimeout, totalTimeout, waitForReady, ...options } = payload.options ?? {}
            const durations = { idleTimeout, totalTimeout, waitForReady }
            const millis = Object.fromEntries(
              Object.entries(durations).flatMap(([key, value]) => (value === undefined ? [] : [[key, toMillis(value)]]))
            )
            const { arguments: args, server } = payload
            const call = (onProgress?: OnProgress) => {
              const all = { ...options, ...millis, onProgress }
              return server === undefined
                ? supervisor.callTool(path.name, args, all)
                : supervisor.callServerTool(server, path.name, args, all)
            }
            return Effect.if(wantsEvents(request), {
              onTrue: () => Effect.succeed(eventStream(feed.alive(callStream(call)))),
              onFalse: () => call()
            })
          })
        )
        .handleRaw(
          "read",
          withBody(Payload.Read, ({ payload }) => supervisor.readResource(payload.server, payload.uri))
        )
        .handleRaw(
          "prompt",
          withBody(Payload.GetPrompt, ({ payload }) =>
            supervisor.getPrompt(payload.server, payload.name, payload.arguments)
          )
        )
    })
  )

const listOf = {
  tools: LongList.make(Protocol.Tool),
  resources: LongList.make(Protocol.Resource),
  resourceTemplates: LongList.make(Protocol.ResourceTemplate),
  prompts: LongList.make(Protocol.Prompt)
}

type OnProgress = NonNullable<CallOptions["onProgress"]>

/** The number of progress reports that are buffered for a slow client. Older ones are dropped: only the newest matters. */
const maxReports = 16

/** Runs a call as a stream of events: progress, then the result or error. The call is cancelled if the client disconnects. */
const callStream = (
  call: (onProgress: OnProgress) => Effect.Effect<CallToolResult, Errors.CallError>
): Stream.Stream<string> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const texts = yield* Mailbox.make<string>({ capacity: maxReports, strategy: "sliding" })
      const offer = (event: string, data: string) => Effect.asVoid(texts.offer(Sse.render({ event, data })))
      const offerEncoded = (event: string, encoded: Effect.Effect<string | undefined>) =>
        Effect.flatMap(encoded, (data) =>
          data === undefined ? offer("error", Fault.internalError) : offer(event, data)
        )
      /** A report that cannot be encoded is skipped: the call continues. */
      const report = (progress: Progress) =>
        Effect.flatMap(encodeProgress(progress), (data) => (data === undefined ? Effect.void : offer("progress", data)))
      yield* call(report).pipe(
        Effect.matchEffect({
          onFailure: (error) => offerEncoded("error", encodeFailure(error)),
          onSuccess: (result) => offerEncoded("result", encodeResult(result))
        }),
        Mailbox.into(texts),
        Effect.forkScoped
      )
      return Mailbox.toStream(texts)
    })
  )

const callRoute = "POST /tools/:name/call"
const encodeProgress = Fault.encoderOf(callRoute, Progress)
const encodeFailure = Fault.encoderOf(callRoute, Schema.Union(...callErrors))
const encodeResult = Fault.encoderOf(callRoute, CallToolResult)

const config = HttpApiBuilder.group(ControlApi, "config", (handlers) =>
  Effect.gen(function* () {
    const files = yield* ConfigAccess
    return handlers
      .handle("reload", () => files.reload)
      .handle("explain", () => files.explain)
      .handleRaw(
        "trust",
        withBody(Payload.Trust, ({ payload }) =>
          Effect.gen(function* () {
            const trusted = yield* files.trust(payload.file)
            return { ...trusted, plan: yield* files.reload }
          })
        )
      )
  })
)

const system = (feed: EventFeed) =>
  HttpApiBuilder.group(ControlApi, "system", (handlers) =>
    handlers
      .handleRaw("events", ({ request }) => Effect.succeed(eventStream(feed.after(request.headers["last-event-id"]))))
      .handle("health", () => Effect.succeed({ version, api: revision }))
      .handle("metrics", () => Effect.map(Metric.snapshot, render))
      .handle("openapi", () => Effect.sync(() => OpenApi.fromApi(ControlApi)))
  )

/** All routes of the API. */
export const layer = (feed: EventFeed): Layer.Layer<HttpApi.Api, never, McpSupervisor | McpAuth> =>
  Layer.provide(
    HttpApiBuilder.api(ControlApi),
    Layer.mergeAll(mcp, auth, servers(feed), catalog(feed), config, system(feed), Fault.layerUnencodable)
  )
