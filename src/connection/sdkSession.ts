/**
 * A session on a client whose handshake is done.
 */
import { LOG_LEVEL_META_KEY, type Tool } from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import { type ConnectionError, HealthCheckFailed, type InvalidResult } from "../domain/Errors.js"
import * as Protocol from "../domain/Protocol.js"
import { callResult, decodeResult } from "./answers.js"
import type { Broadcast } from "./Broadcast.js"
import type { CallTable } from "./CallTable.js"
import * as Lists from "./sdkLists.js"
import { type Link, limitsOf, perform, request, toConnectionError, toRequestError } from "./sdkRequests.js"
import { resourceUpdates } from "./sdkSubscriptions.js"
import type { CallOptions, Info, Notification, RequestError, Session } from "./Session.js"

/** What a connection knows besides its client. */
export interface Parts {
  readonly link: Link
  readonly info: Info
  readonly calls: CallTable
  readonly notifications: Broadcast<Notification>
  readonly updates: Broadcast<string>
  readonly logs: Broadcast<Protocol.LogLine>
  readonly push: () => Protocol.Push
  readonly closed: Deferred.Deferred<ConnectionError>
}

export const make = (parts: Parts): Session => {
  const { info, link } = parts
  const { client, server } = link
  const lists = Lists.make(link)
  let logLevel: Protocol.LogLevel | undefined
  /** As listed, for the headers that a call in the modern era has to repeat its arguments in. */
  let definitions = new Map<string, Tool>()

  const listTools =
    link.era === "legacy"
      ? lists.listTools
      : lists.listTools.pipe(
          Effect.tap(({ items }) =>
            Effect.sync(() => {
              definitions = new Map(
                items.map(({ inputSchema, name }) => [name, { name, inputSchema } as unknown as Tool])
              )
            })
          )
        )

  const modernCall = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions | undefined,
    report: Report
  ) => {
    const meta = { ...options?.meta, ...(logLevel === undefined ? {} : { [LOG_LEVEL_META_KEY]: logLevel }) }
    const params = { name, arguments: args, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) }
    return perform(
      link,
      limitsOf(link, options),
      (sdkOptions) => {
        const toolDefinition = definitions.get(name)
        return client.callTool(params, { ...sdkOptions, ...(toolDefinition === undefined ? {} : { toolDefinition }) })
      },
      report
    ).pipe(
      Effect.mapError(toRequestError(link)),
      Effect.flatMap((result) => callResult(server, result))
    )
  }

  /** The server wants headers that we do not know of: its list has changed. It did not execute the call. */
  const withFreshHeaders = <A>(call: Effect.Effect<A, RequestError>): Effect.Effect<A, RequestError> =>
    call.pipe(
      Effect.catchIf(
        (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.HeaderMismatch,
        () => Effect.zipRight(listTools, call)
      )
    )

  const legacyCall = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions | undefined,
    report: Report
  ) =>
    Effect.async<Protocol.CallToolResult, RequestError>((resume) => {
      const cancel = parts.calls.call({
        name,
        arguments: args,
        meta: options?.meta,
        limits: limitsOf(link, options),
        onProgress: report,
        settle: resume
      })
      return Effect.sync(cancel)
    })

  const call = link.era === "legacy" ? legacyCall : modernCall

  const callTool: Session["callTool"] = (name, args = {}, options) => {
    const run = (report: Report) =>
      link.era === "legacy" ? call(name, args, options, report) : withFreshHeaders(call(name, args, options, report))
    const { onProgress } = options ?? {}
    return onProgress === undefined ? run(ignore) : withProgress(run, onProgress, limitsOf(link, options).idle)
  }

  const decoded = <A, I>(
    run: Effect.Effect<unknown, RequestError>,
    schema: Parameters<typeof decodeResult<A, I>>[1]
  ): Effect.Effect<A, RequestError> =>
    Effect.flatMap(run, (result): Exit.Exit<A, InvalidResult> => decodeResult(server, schema, result))

  return {
    info,
    ...lists,
    listTools,
    callTool,
    readResource: (uri, options) =>
      decoded(
        request(link, limitsOf(link, options), (sdkOptions) =>
          client.readResource({ uri }, { ...sdkOptions, cacheMode: "bypass" })
        ),
        Protocol.ReadResourceResult
      ),
    subscribeResource: resourceUpdates(link, parts.updates),
    getPrompt: (name, args, options) =>
      decoded(
        request(link, limitsOf(link, options), (sdkOptions) =>
          client.getPrompt({ name, ...(args === undefined ? {} : { arguments: { ...args } }) }, sdkOptions)
        ),
        Protocol.GetPromptResult
      ),
    complete: (wanted, options) =>
      decoded(
        request(link, limitsOf(link, options), (sdkOptions) => client.complete(wanted as never, sdkOptions)),
        Protocol.CompleteResult
      ),
    setLogLevel: (level) =>
      link.era === "legacy"
        ? Effect.asVoid(request(link, limitsOf(link), (options) => client.setLoggingLevel(level, options)))
        : Effect.sync(() => {
            logLevel = level
          }),
    probe: (timeout) => probe(link, Duration.toMillis(timeout)),
    notifications: parts.notifications.stream,
    logs: parts.logs.stream,
    push: Effect.sync(parts.push),
    closed: Deferred.await(parts.closed)
  }
}

type Report = (progress: Protocol.Progress) => void

const ignore = () => {}

/**
 * Reports run in order and one at a time, in a fiber of the call. Those before the answer run before the call returns, if
 * they do not take longer for it than a server may be silent.
 */
const withProgress = (
  run: (report: Report) => Effect.Effect<Protocol.CallToolResult, RequestError>,
  onProgress: NonNullable<CallOptions["onProgress"]>,
  patience: number
) =>
  Effect.gen(function* () {
    const reports = yield* Mailbox.make<Protocol.Progress>({ capacity: maxReports, strategy: "sliding" })
    const reader = yield* reports.take.pipe(
      Effect.flatMap(onProgress),
      Effect.forever,
      Effect.catchTag("NoSuchElementException", () => Effect.void),
      Effect.fork
    )
    const exit = yield* Effect.exit(run((progress) => void reports.unsafeOffer(progress)))
    yield* reports.end
    if (Exit.isSuccess(exit)) yield* Effect.timeoutOption(reader.await, patience)
    yield* Fiber.interruptFork(reader)
    return yield* exit
  })

/** Of a server that reports faster than its reports are handled, the latest are kept. */
const maxReports = 256

/** Any answer is a sign of life, also one that says no. */
const probe = (link: Link, timeout: number): Effect.Effect<void, ConnectionError> =>
  perform(
    link,
    { idle: timeout, total: timeout },
    (options) => (link.era === "legacy" ? link.client.ping(options) : link.client.discover(options)),
    ignore,
    link.steadyClocks
  ).pipe(
    Effect.catchAll((raw) => {
      if ("timeout" in raw) return Effect.fail(new HealthCheckFailed({ server: link.server, after: timeout }))
      const { _tag } = toRequestError(link)(raw)
      return _tag === "ProtocolError" || _tag === "InvalidResult"
        ? Effect.void
        : Effect.fail(toConnectionError(link)(raw))
    }),
    Effect.asVoid
  )
