/**
 * Adapts a wire to the transport interface of the SDK. Each client has its own transport over the same wire; closing it ends
 * only that client.
 */
import { type JSONRPCMessage, SdkErrorCode, SdkHttpError, type Transport } from "@modelcontextprotocol/client"
import type { Issue } from "../../domain/Issue.js"
import { errorCodes, modernRevisions } from "../../domain/catalog/Protocol.js"
import { isTooDeep, tooDeep } from "../session/results.js"
import { introducing, limited } from "../session/introduction.js"
import { scanMessage } from "../wire/scanMessage.js"
import * as ServerRequests from "../session/ServerRequests.js"
import {
  isRequest,
  type Message,
  type MessageId,
  valueBytes,
  type Wire,
  type WireEvents,
  WireFailure
} from "../wire/Wire.js"

export interface SdkTransport extends Transport {
  readonly deliver: WireEvents["message"]
  /** Whether a request with this id waits for its response. */
  readonly awaits: WireEvents["awaits"]
  /** Ends all requests of the client, because the wire has closed. */
  readonly end: () => void
}

/**
 * The key in `_meta` under which a result bypasses the validation of the SDK. The SDK rejects a whole list for one invalid
 * entry, rejects unknown content and drops unknown keys.
 */
const resultKey = "mcp-supervisor/result"

/** The key in `_meta` for the weight of the message that contained a list. */
const weightKey = "mcp-supervisor/weight"

/** The empty list that the SDK receives instead of the real one, by request method. */
const emptyLists: Readonly<Record<string, object | undefined>> = {
  "tools/list": { tools: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/list": { prompts: [] }
}

/** The empty result that the SDK receives instead of the real one, by request method. */
const emptyResults: Readonly<Record<string, object | undefined>> = {
  ...emptyLists,
  "tools/call": { content: [] },
  "resources/read": { contents: [] },
  "prompts/get": { messages: [] }
}

/** The result as the server sent it. */
export const wholeResult = (result: unknown): unknown => metaField(result, resultKey) ?? result

/** The weight of a list: the bytes of its message, and the memory that its values take. */
export const weightOf = (result: unknown): number => Number(metaField(result, weightKey) ?? 0)

const metaField = (result: unknown, key: string): unknown =>
  (result as { readonly _meta?: Readonly<Record<string, unknown>> | undefined })._meta?.[key]

/**
 * Creates a transport.
 *
 * @param warn reports what was removed from the server's introduction.
 */
export const make = (wire: Wire, warn: (text: string) => void): SdkTransport => {
  /** The methods of the requests that wait for their response. */
  const pendingMethods = new Map<MessageId, string>()
  const requests = ServerRequests.make(wire)
  let open = true
  let isModern = false

  /** Whether to pass a message to the SDK. The SDK compares ids without their type, so ids are checked here. */
  const isForSdk = (message: Message): boolean => {
    const { id, method, params } = message
    if (method === undefined) return pendingMethods.has(id as MessageId)
    // In the modern era a server cannot send requests, and must not receive responses.
    if (isRequest(message)) return !isModern && isId(id) && requests.admit(message)
    if (method === "notifications/cancelled") requests.cancelled(fieldOf(params, "requestId"))
    if (method === "notifications/progress") return pendingMethods.has(fieldOf(params, "progressToken") as MessageId)
    return handledNotifications.has(method)
  }

  /** Converts a message to the form that the SDK accepts. */
  const toSdkMessage = (message: Message, text: string): Message => {
    const { id, method } = message
    if (id == null || method !== undefined) return message
    const question = pendingMethods.get(id) ?? ""
    pendingMethods.delete(id)
    return introducing.has(question)
      ? introduction(message, text.length, warn)
      : withResultAside(question, message, text)
  }

  const transport: SdkTransport = {
    awaits: (id) => pendingMethods.has(id),
    start: () => Promise.resolve(),
    send: (message, options) => {
      const request = message as Message
      if (isRequest(request)) pendingMethods.set(request.id, request.method ?? "")
      if (request.method === "notifications/cancelled") pendingMethods.delete(cancelledId(request))
      const { headers, onRequestStreamEnd, requestSignal } = options ?? {}
      if (request.id != null) requestSignal?.addEventListener("abort", () => wire.retract(request.id!), { once: true })
      return new Promise((resolve, reject) => {
        const done = () => {
          // On other wires, `done` is called when the request was written, long before its response.
          if (wire.transport === "streamable-http") onRequestStreamEnd?.()
          resolve()
        }
        const failed = (failure: WireFailure) => {
          if (request.id != null) pendingMethods.delete(request.id)
          reject(asSdkError(request, failure))
        }
        if (request.method === undefined) requests.answer(request, { done, failed })
        else wire.send(request, { done, failed }, headers)
      })
    },
    close: () => {
      transport.end()
      return Promise.resolve()
    },
    deliver: (message, text) => {
      if (!open || !isForSdk(message)) return
      const pass = () => {
        try {
          transport.onmessage?.(toSdkMessage(wellFormed(message), text) as JSONRPCMessage)
        } catch {
          // The SDK cannot handle the message: it is dropped.
        }
      }
      // The SDK handles a notification later than a response, and drops progress that arrived before the response. So the
      // response is delayed.
      if (message.method === undefined) queueMicrotask(pass)
      else pass()
    },
    end: () => {
      if (!open) return
      open = false
      requests.close()
      // Failures of single requests are reported in earlier microtasks: the end of the connection must not overtake them.
      queueMicrotask(() => transport.onclose?.())
    },
    setProtocolVersion: (revision) => {
      isModern = (modernRevisions as ReadonlyArray<string>).includes(revision)
      wire.agreed(revision)
    }
  }
  return wire.transport === "stdio"
    ? // The SDK uses these fields to distinguish a process from a URL.
      Object.assign(transport, { pid: wire.pid, stderr: null })
    : Object.assign(transport, { hasPerRequestStream: wire.transport === "streamable-http" })
}

/**
 * The key in the error data that marks a malformed response. The SDK would drop such a response, and its request would wait
 * forever.
 */
export const malformedKey = "mcp-supervisor/malformed"

const wellFormed = (message: Message): Message => {
  const { error, id, method, result } = message
  if (method !== undefined || isObject(result)) return message
  const { code, message: text } = (isObject(error) ? error : {}) as Record<string, unknown>
  if (Number.isSafeInteger(code) && typeof text === "string") return message
  return malformed(id, true)
}

/** The error response that replaces a malformed one. `issue` says what is wrong, or is `true` if there is no further detail. */
const malformed = (id: Message["id"], issue: Issue | true): Message => {
  const words = { code: errorCodes.InternalError, message: "the answer is malformed", data: { [malformedKey]: issue } }
  return { jsonrpc: "2.0", id, error: words }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isId = (id: unknown): id is MessageId => typeof id === "string" || Number.isSafeInteger(id)

const fieldOf = (params: unknown, name: string): unknown =>
  isObject(params) ? (params as Readonly<Record<string, unknown>>)[name] : undefined

/** The notifications that the SDK handles, besides progress. */
const handledNotifications = new Set([
  "notifications/cancelled",
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/prompts/list_changed",
  "notifications/subscriptions/acknowledged"
])

const cancelledId = ({ params }: Message) => (params as { readonly requestId: MessageId }).requestId

/** Moves the result to `_meta`, where the SDK does not validate it, and leaves the minimal valid result in its place. */
const withResultAside = (question: string, message: Message, text: string): Message => {
  const { result } = message
  const shell = emptyResults[question]
  if (shell === undefined) return rejectTooDeep(message)
  const { resultType = "complete" } = (result ?? {}) as { readonly resultType?: unknown }
  // An error, or a request for input in the modern era: the SDK handles it.
  if (!isObject(result) || resultType !== "complete") return rejectTooDeep(message)
  const _meta = { [resultKey]: result, ...(emptyLists[question] === undefined ? {} : { [weightKey]: weigh(text) }) }
  return { ...message, result: { resultType, ttlMs: 0, cacheScope: "private", ...shell, _meta } }
}

const weigh = (text: string): number => {
  const bytes = Buffer.from(text)
  return bytes.length + valueBytes * scanMessage(bytes, Number.POSITIVE_INFINITY, () => false).values
}

/** The SDK reads these results itself, recursively, so their depth is limited. */
const rejectTooDeep = (message: Message): Message =>
  isTooDeep(message.result) ? malformed(message.id, tooDeep) : message

const introduction = (message: Message, length: number, warn: (text: string) => void): Message => {
  if (!isObject(message.result)) return message
  const introduced = limited(message.result, length, warn)
  return "issue" in introduced ? malformed(message.id, introduced.issue) : { ...message, result: introduced.result }
}

/** The `initialize` request was refused. The status identifies servers of the older transport. */
export class GreetingRefused extends Error {
  override readonly name = "GreetingRefused"
  readonly failure: WireFailure
  constructor(failure: WireFailure) {
    super(failure.message, { cause: failure })
    this.failure = failure
  }
}

/**
 * Converts a failure to the error class that makes the SDK do the right thing. During version negotiation, a 4xx status means
 * an older server. Every other failure must reach the caller unchanged, which the SDK does for errors of this name.
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

/**
 * Whether the server has already answered this request with a request for input. It may have acted on it, whatever happens now.
 */
const isLaterRound = ({ params }: Message): boolean =>
  isObject(params) && ("inputResponses" in params || "requestState" in params)

const isOlder = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status)
