/**
 * Implements tool calls, bypassing the SDK in the legacy era and through the SDK in the modern era.
 */
import { LOG_LEVEL_META_KEY, type Tool } from "@modelcontextprotocol/client"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import type * as Listing from "../../domain/catalog/Listing.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { callResult } from "../session/results.js"
import type { CallTable } from "../session/CallTable.js"
import type { CallOptions, RequestError, Session } from "../Session.js"
import { type SdkChannel, limitsOf, perform, request, toRequestError } from "./sdkRequests.js"
import { wholeResult } from "./sdkTransport.js"

/** The methods of a session that differ between the eras. */
type Calling = Pick<Session, "callTool" | "listTools" | "setLogLevel">

type ReportProgress = (progress: Protocol.Progress) => void

type SendCall = (
  name: string,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions | undefined,
  report: ReportProgress
) => Effect.Effect<Protocol.CallToolResult, RequestError>

export const legacy = (channel: SdkChannel, calls: CallTable, listTools: Session["listTools"]): Calling => {
  const call: SendCall = (name, args, options, report) =>
    Effect.async((resume) => {
      const cancel = calls.call({
        name,
        arguments: args,
        meta: options?.meta,
        limits: limitsOf(channel, options),
        onProgress: report,
        settle: resume
      })
      return Effect.sync(cancel)
    })
  return {
    callTool: withReports(channel, call),
    listTools,
    setLogLevel: (level) =>
      Effect.asVoid(request(channel, limitsOf(channel), (options) => channel.client.setLoggingLevel(level, options)))
  }
}

/**
 * Tool calls of the modern era. A call repeats some arguments in headers, as the tool's definition requires, and holds the log
 * level.
 */
export const modern = (channel: SdkChannel, list: Session["listTools"]): Calling => {
  let logLevel: Protocol.LogLevel | undefined
  let definitions = new Map<string, Tool>()

  const remember = ({ items }: Listing.Listing<Listing.ListedTool>) =>
    Effect.sync(() => {
      definitions = new Map(items.map(({ inputSchema, name }) => [name, { name, inputSchema } as unknown as Tool]))
    })
  const listTools = Effect.tap(list, remember)

  const once: SendCall = (name, args, options, report) => {
    const meta = { ...options?.meta, ...(logLevel === undefined ? {} : { [LOG_LEVEL_META_KEY]: logLevel }) }
    const params = { name, arguments: args, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) }
    return perform(
      channel,
      limitsOf(channel, options),
      (sdkOptions) => {
        // Without a definition the SDK would fetch the list and repeat the call on its own.
        const toolDefinition = definitions.get(name) ?? { name, inputSchema: { type: "object" as const } }
        return channel.client.callTool(params, { ...sdkOptions, toolDefinition })
      },
      report
    ).pipe(
      Effect.mapError(toRequestError(channel)),
      Effect.flatMap((result) => callResult(channel.server, wholeResult(result)))
    )
  }

  /** Retries a call once after `HeaderMismatch`: the server's list has changed, and it has not executed the call. */
  const call: SendCall = (...parameters) =>
    Effect.catchIf(
      once(...parameters),
      (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.HeaderMismatch,
      () => Effect.zipRight(listTools, once(...parameters))
    )

  return {
    callTool: withReports(channel, call),
    listTools,
    setLogLevel: (level) =>
      Effect.sync(() => {
        logLevel = level
      })
  }
}

/** The maximum number of waiting progress reports. If a server reports faster than the handler runs, the oldest are dropped. */
const maxReports = 256

/**
 * Runs the progress handler in a fiber of the call, in order and one report at a time. Reports that arrived before the response
 * are handled before the call returns, unless this takes longer than the idle limit.
 */
const withReports =
  (channel: SdkChannel, call: SendCall): Session["callTool"] =>
  (name, args = {}, options) => {
    const { onProgress } = options ?? {}
    if (onProgress === undefined) return call(name, args, options, () => {})
    return Effect.gen(function* () {
      const reports = yield* Mailbox.make<Protocol.Progress>({ capacity: maxReports, strategy: "sliding" })
      const reader = yield* reports.take.pipe(
        Effect.flatMap((progress) =>
          Effect.catchAllCause(onProgress(progress), (cause) => Effect.logWarning("mcp.progress.failed", cause))
        ),
        Effect.forever,
        Effect.catchTag("NoSuchElementException", () => Effect.void),
        Effect.fork
      )
      const [took, exit] = yield* Effect.timed(
        Effect.exit(call(name, args, options, (progress) => void reports.unsafeOffer(progress)))
      )
      yield* reports.end
      const { idle, total } = limitsOf(channel, options)
      const patience = Math.max(0, Math.min(idle, total - Duration.toMillis(took)))
      if (Exit.isSuccess(exit)) yield* Effect.timeoutOption(Fiber.await(reader), patience)
      // A slower handler is interrupted at the end of the call.
      yield* Fiber.interruptFork(reader)
      return yield* exit
    })
  }
