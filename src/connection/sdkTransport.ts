/**
 * A wire as the SDK wants it. Each client gets its own over the same wire; closing one ends nothing but that client.
 */
import { type JSONRPCMessage, SdkErrorCode, SdkHttpError, type Transport } from "@modelcontextprotocol/client"
import { errorCodes } from "../domain/Protocol.js"
import { type Message, type MessageId, type Wire, WireFailure } from "./Wire.js"

export interface SdkTransport extends Transport {
  readonly deliver: (message: Message) => void
  /** The wire ended: every request of the client does, too. */
  readonly end: () => void
}

/**
 * Where a result travels past the SDK, which refuses a whole list for one bad entry, refuses content that it does not know and
 * drops keys that it does not know.
 */
const resultKey = "mcp-supervisor/result"

/** What the SDK gets to see instead, by the method that was asked. */
const shells: Readonly<Record<string, object | undefined>> = {
  "tools/list": { tools: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/list": { prompts: [] },
  "tools/call": { content: [] },
  "resources/read": { contents: [] },
  "prompts/get": { messages: [] }
}

/** A result as the server sent it. */
export const wholeResult = (result: unknown): unknown =>
  (result as { readonly _meta?: Readonly<Record<string, unknown>> | undefined })._meta?.[resultKey] ?? result

export const make = (wire: Wire): SdkTransport => {
  const asked = new Map<MessageId, object>()
  let open = true

  const transport: SdkTransport = {
    start: () => Promise.resolve(),
    send: (message, options) => {
      const request = message as Message
      const shell = shells[request.method ?? ""]
      if (shell !== undefined && request.id != null) asked.set(request.id, shell)
      if (request.method === "notifications/cancelled") asked.delete(cancelledId(request))
      const { headers, onRequestStreamEnd, requestSignal } = options ?? {}
      if (request.id != null) requestSignal?.addEventListener("abort", () => wire.retract(request.id!), { once: true })
      return new Promise((resolve, reject) => {
        const done = () => {
          // elsewhere a request has gone out long before its answer is over
          if (wire.transport === "streamable-http") onRequestStreamEnd?.()
          resolve()
        }
        const failed = (failure: WireFailure) => {
          if (request.id != null) asked.delete(request.id)
          reject(asSdkError(request, failure))
        }
        wire.send(request, { done, failed }, headers)
      })
    },
    close: () => {
      transport.end()
      return Promise.resolve()
    },
    deliver: (message) => {
      if (!open) return
      const pass = () => {
        try {
          transport.onmessage?.(withResultAside(asked, wellFormed(message)) as JSONRPCMessage)
        } catch {
          // a message that the SDK stumbles over is for nobody
        }
      }
      // the SDK handles a notification a moment later than an answer, and drops progress that came before an answer
      if (message.method === undefined) queueMicrotask(pass)
      else pass()
    },
    end: () => {
      if (!open) return
      open = false
      // what failed by itself has been told so, a moment ago: the end of the connection must not overtake it
      queueMicrotask(() => transport.onclose?.())
    },
    setProtocolVersion: (revision) => wire.agreed(revision)
  }
  return wire.transport === "stdio"
    ? // this is how the SDK tells a process from a URL
      Object.assign(transport, { pid: wire.pid, stderr: null })
    : Object.assign(transport, { hasPerRequestStream: wire.transport === "streamable-http" })
}

/** How an answer that is none is told to whoever waits for it: the SDK would drop it, and let them wait. */
export const malformedKey = "mcp-supervisor/malformed"

const wellFormed = (message: Message): Message => {
  const { error, id, method, result } = message
  if (method !== undefined || isObject(result)) return message
  const { code, message: text } = (isObject(error) ? error : {}) as Record<string, unknown>
  if (Number.isSafeInteger(code) && typeof text === "string") return message
  const words = { code: errorCodes.InternalError, message: "the answer is malformed", data: { [malformedKey]: true } }
  return { jsonrpc: "2.0", id, error: words }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const cancelledId = ({ params }: Message) => (params as { readonly requestId: MessageId }).requestId

/** The result is put where the SDK does not look, in a shell that has what it insists on. */
const withResultAside = (asked: Map<MessageId, object>, message: Message): Message => {
  const { id, method, result } = message
  const shell = id == null || method !== undefined ? undefined : asked.get(id)
  if (shell === undefined) return message
  asked.delete(id!)
  const { resultType = "complete" } = (result ?? {}) as { readonly resultType?: unknown }
  // an error, or a question of the server: that is for the SDK
  if (!isObject(result) || resultType !== "complete") return message
  const whole = { resultType, ttlMs: 0, cacheScope: "private", ...shell, _meta: { [resultKey]: result } }
  return { ...message, result: whole }
}

/** The first message of the older handshake was refused, which is how older servers are told. */
export class GreetingRefused extends Error {
  override readonly name = "GreetingRefused"
  readonly failure: WireFailure
  constructor(failure: WireFailure) {
    super(failure.message, { cause: failure })
    this.failure = failure
  }
}

/**
 * What the SDK does with an error depends on its kind. While it finds out which revision a server speaks, a status of the
 * 400s means an older server; everything else must come back to us as it is, which it does under this name.
 */
const asSdkError = (request: Message, failure: WireFailure): Error => {
  const { reason } = failure
  if (request.method === "initialize") return new GreetingRefused(failure)
  if (isLaterRound(request)) return new WireFailure(reason, "sent")
  if (request.method !== "server/discover") return failure
  return reason._tag === "HttpFailed" && isOlder(reason.status)
    ? new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, failure.message, { status: reason.status })
    : Object.assign(new WireFailure(reason, failure.stage), { name: "UnauthorizedError" })
}

/** The server has seen this request before and asked something back: whatever happens now, it may have acted on it. */
const isLaterRound = ({ params }: Message): boolean =>
  isObject(params) && ("inputResponses" in params || "requestState" in params)

const isOlder = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status)
