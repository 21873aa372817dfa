/**
 * A wire as the SDK wants it. Each client gets its own over the same wire; closing one ends nothing but that client.
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
  /** Whether a request with this id waits for its answer. */
  readonly awaits: WireEvents["awaits"]
  /** The wire ended: every request of the client does, too. */
  readonly end: () => void
}

/**
 * Where a result travels past the SDK, which refuses a whole list for one bad entry, refuses content that it does not know and
 * drops keys that it does not know.
 */
const resultKey = "mcp-supervisor/result"

/** Where the weight of the message travels that a list came in. */
const weightKey = "mcp-supervisor/weight"

/** What the SDK gets to see instead of a list, by the method that was asked. */
const lists: Readonly<Record<string, object | undefined>> = {
  "tools/list": { tools: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/list": { prompts: [] }
}

/** The same of all results. */
const shells: Readonly<Record<string, object | undefined>> = {
  ...lists,
  "tools/call": { content: [] },
  "resources/read": { contents: [] },
  "prompts/get": { messages: [] }
}

/** A result as the server sent it. */
export const wholeResult = (result: unknown): unknown => aside(result, resultKey) ?? result

/** The bytes of the message that a list came in, with those that its values take in memory. */
export const weightOf = (result: unknown): number => Number(aside(result, weightKey) ?? 0)

const aside = (result: unknown, key: string): unknown =>
  (result as { readonly _meta?: Readonly<Record<string, unknown>> | undefined })._meta?.[key]

/** @param warn tells what was left out of the server's introduction. */
export const make = (wire: Wire, warn: (text: string) => void): SdkTransport => {
  /** The methods of the requests that wait for their answer. */
  const asked = new Map<MessageId, string>()
  const requests = ServerRequests.make(wire)
  let open = true
  let isModern = false

  /** Whether the SDK has a use for it. It compares ids without their type, so that is done here. */
  const isWanted = (message: Message): boolean => {
    const { id, method, params } = message
    if (method === undefined) return asked.has(id as MessageId)
    // in the modern era a server cannot ask, and must not be answered
    if (isRequest(message)) return !isModern && isId(id) && requests.admit(message)
    if (method === "notifications/cancelled") requests.cancelled(fieldOf(params, "requestId"))
    if (method === "notifications/progress") return asked.has(fieldOf(params, "progressToken") as MessageId)
    return heard.has(method)
  }

  /** A message as the SDK can read it. */
  const readable = (message: Message, text: string): Message => {
    const { id, method } = message
    if (id == null || method !== undefined) return message
    const question = asked.get(id) ?? ""
    asked.delete(id)
    return introducing.has(question)
      ? introduction(message, text.length, warn)
      : withResultAside(question, message, text)
  }

  const transport: SdkTransport = {
    awaits: (id) => asked.has(id),
    start: () => Promise.resolve(),
    send: (message, options) => {
      const request = message as Message
      if (isRequest(request)) asked.set(request.id, request.method ?? "")
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
        if (request.method === undefined) requests.answer(request, { done, failed })
        else wire.send(request, { done, failed }, headers)
      })
    },
    close: () => {
      transport.end()
      return Promise.resolve()
    },
    deliver: (message, text) => {
      if (!open || !isWanted(message)) return
      const pass = () => {
        try {
          transport.onmessage?.(readable(wellFormed(message), text) as JSONRPCMessage)
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
      requests.close()
      // what failed by itself has been told so, a moment ago: the end of the connection must not overtake it
      queueMicrotask(() => transport.onclose?.())
    },
    setProtocolVersion: (revision) => {
      isModern = (modernRevisions as ReadonlyArray<string>).includes(revision)
      wire.agreed(revision)
    }
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
  return malformed(id, true)
}

/** `issue` says what is wrong, or is `true` where that is plain. */
const malformed = (id: Message["id"], issue: Issue | true): Message => {
  const words = { code: errorCodes.InternalError, message: "the answer is malformed", data: { [malformedKey]: issue } }
  return { jsonrpc: "2.0", id, error: words }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isId = (id: unknown): id is MessageId => typeof id === "string" || Number.isSafeInteger(id)

const fieldOf = (params: unknown, name: string): unknown =>
  isObject(params) ? (params as Readonly<Record<string, unknown>>)[name] : undefined

/** The notifications that the SDK acts upon, besides those about progress. */
const heard = new Set([
  "notifications/cancelled",
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/prompts/list_changed",
  "notifications/subscriptions/acknowledged"
])

const cancelledId = ({ params }: Message) => (params as { readonly requestId: MessageId }).requestId

/** The result is put where the SDK does not look, in a shell that has what it insists on. */
const withResultAside = (question: string, message: Message, text: string): Message => {
  const { result } = message
  const shell = shells[question]
  if (shell === undefined) return shallow(message)
  const { resultType = "complete" } = (result ?? {}) as { readonly resultType?: unknown }
  // an error, or a question of the server: that is for the SDK
  if (!isObject(result) || resultType !== "complete") return shallow(message)
  const _meta = { [resultKey]: result, ...(lists[question] === undefined ? {} : { [weightKey]: weigh(text) }) }
  return { ...message, result: { resultType, ttlMs: 0, cacheScope: "private", ...shell, _meta } }
}

const weigh = (text: string): number => {
  const bytes = Buffer.from(text)
  return bytes.length + valueBytes * scanMessage(bytes, Number.POSITIVE_INFINITY, () => false).values
}

/** The SDK looks into these results itself, and goes as deep as they do. */
const shallow = (message: Message): Message => (isTooDeep(message.result) ? malformed(message.id, tooDeep) : message)

const introduction = (message: Message, length: number, warn: (text: string) => void): Message => {
  if (!isObject(message.result)) return message
  const kept = limited(message.result, length, warn)
  return "issue" in kept ? malformed(message.id, kept.issue) : { ...message, result: kept.result }
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
