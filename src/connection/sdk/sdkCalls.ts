/**
 * Tool calls: past the SDK in the legacy era, through it in the modern one.
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
import { type Link, limitsOf, perform, request, toRequestError } from "./sdkRequests.js"
import { wholeResult } from "./sdkTransport.js"

/** What depends on how calls are made. */
type Calling = Pick<Session, "callTool" | "listTools" | "setLogLevel">

type Report = (progress: Protocol.Progress) => void

type Call = (
  name: string,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions | undefined,
  report: Report
) => Effect.Effect<Protocol.CallToolResult, RequestError>

export const legacy = (link: Link, calls: CallTable, listTools: Session["listTools"]): Calling => {
  const call: Call = (name, args, options, report) =>
    Effect.async((resume) => {
      const cancel = calls.call({
        name,
        arguments: args,
        meta: options?.meta,
        limits: limitsOf(link, options),
        onProgress: report,
        settle: resume
      })
      return Effect.sync(cancel)
    })
  return {
    callTool: withReports(link, call),
    listTools,
    setLogLevel: (level) =>
      Effect.asVoid(request(link, limitsOf(link), (options) => link.client.setLoggingLevel(level, options)))
  }
}

/** In the modern era a call repeats some of its arguments in headers, as the tool's definition says, and names the level. */
export const modern = (link: Link, list: Session["listTools"]): Calling => {
  let logLevel: Protocol.LogLevel | undefined
  let definitions = new Map<string, Tool>()

  const remember = ({ items }: Listing.Listing<Listing.ListedTool>) =>
    Effect.sync(() => {
      definitions = new Map(items.map(({ inputSchema, name }) => [name, { name, inputSchema } as unknown as Tool]))
    })
  const listTools = Effect.tap(list, remember)

  const once: Call = (name, args, options, report) => {
    const meta = { ...options?.meta, ...(logLevel === undefined ? {} : { [LOG_LEVEL_META_KEY]: logLevel }) }
    const params = { name, arguments: args, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) }
    return perform(
      link,
      limitsOf(link, options),
      (sdkOptions) => {
        // without a definition the SDK would list and call again by itself
        const toolDefinition = definitions.get(name) ?? { name, inputSchema: { type: "object" as const } }
        return link.client.callTool(params, { ...sdkOptions, toolDefinition })
      },
      report
    ).pipe(
      Effect.mapError(toRequestError(link)),
      Effect.flatMap((result) => callResult(link.server, wholeResult(result)))
    )
  }

  /** A server that wants other headers has changed its list. It has not executed the call. */
  const call: Call = (...parameters) =>
    Effect.catchIf(
      once(...parameters),
      (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.HeaderMismatch,
      () => Effect.zipRight(listTools, once(...parameters))
    )

  return {
    callTool: withReports(link, call),
    listTools,
    setLogLevel: (level) =>
      Effect.sync(() => {
        logLevel = level
      })
  }
}

/** Of a server that reports faster than its reports are handled, the latest are kept. */
const maxReports = 256

/**
 * Reports run in order and one at a time, in a fiber of the call. Those before the answer run before the call returns, if
 * they do not take longer for it than a server may be silent.
 */
const withReports =
  (link: Link, call: Call): Session["callTool"] =>
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
      const { idle, total } = limitsOf(link, options)
      const patience = Math.max(0, Math.min(idle, total - Duration.toMillis(took)))
      if (Exit.isSuccess(exit)) yield* Effect.timeoutOption(Fiber.await(reader), patience)
      // a handler that takes longer is not waited for: it ends with the call
      yield* Fiber.interruptFork(reader)
      return yield* exit
    })
  }
