/**
 * Delivers one message and receives its response. A response that breaks off is resumed if the server allows it, so a delivery
 * may take several exchanges.
 */
import type { IncomingHttpHeaders } from "node:http"
import { errorCodes } from "../../domain/catalog/Protocol.js"
import { ConnectionClosed, type ConnectionError } from "../../domain/Errors.js"
import type { HttpClient } from "./HttpClient.js"
import {
  exchange,
  type Handler,
  type Position,
  type ExchangeContext,
  type FailedResponse,
  type ExchangeRequest
} from "./HttpExchange.js"
import type { HttpContext } from "./httpFailure.js"
import { isRequest, type Message, parseMessages, type WireEvents, WireFailure } from "../wire/Wire.js"

/** Milliseconds. A stream that the server keeps open after the response is closed after this time. */
const linger = 5000

/** The maximum number of attempts to resume a response. */
const maxResumes = 5

/** Milliseconds before a resumption, unless the server sets a time. */
const resumeAfter = 1000

export interface Delivery {
  readonly context: ExchangeContext
  readonly client: HttpClient
  readonly message: Message
  readonly request: ExchangeRequest
  /** The request for all events after this one. */
  readonly resume: (lastEventId: string) => ExchangeRequest
  readonly onSent?: (() => void) | undefined
  readonly onAccepted: (headers: IncomingHttpHeaders) => void
  readonly onMessage: WireEvents["message"]
  /** Called once, when the delivery has succeeded or failed. */
  readonly settle: (failure?: WireFailure) => void
}

/** Delivers a message. The returned function ends the delivery without calling `settle`. */
export const deliver = (delivery: Delivery): (() => void) => {
  const { client, context, message } = delivery
  const id = isRequest(message) ? message.id : undefined
  let isSettled = false
  let isAnsweredElsewhere = false
  let abort = () => {}
  let closing: NodeJS.Timeout | undefined

  const settle = (failure?: WireFailure) => {
    if (isSettled) return
    isSettled = true
    delivery.settle(failure)
  }

  /** Settles the delivery. The stream stays open for a while, since the server may still send messages. */
  const conclude = () => {
    closing = setTimeout(() => abort(), linger).unref()
    settle()
  }

  const resumeLater = ({ lastEventId, retry = resumeAfter }: Position, resumes: number, failure: WireFailure) => {
    const isResumable = failure.stage === "sent" || resumes > 0
    if (lastEventId === undefined || !isHeaderValue(lastEventId) || resumes >= maxResumes || !isResumable) {
      // The message was delivered by the first exchange: a failed resumption leaves its stage at "sent".
      return settle(resumes === 0 ? failure : new WireFailure(failure.reason, "sent"))
    }
    const timer = setTimeout(
      () => {
        abort = exchange(context, client, delivery.resume(lastEventId), handler(resumes + 1, { lastEventId, retry }))
      },
      Math.min(retry, longestWait)
    )
    abort = () => clearTimeout(timer)
  }

  const handler = (resumes: number, from: Position): Handler => ({
    started: resumes === 0 ? delivery.onSent : undefined,
    accepted: (status, headers) => {
      // 202 for a request: some servers send the response on the push stream instead.
      isAnsweredElsewhere = status === 202
      if (resumes > 0) return
      delivery.onAccepted(headers)
      if (id === undefined) conclude()
    },
    message: (answer, text) => {
      delivery.onMessage(answer, text)
      if (id === undefined || answer.id !== id || answer.method !== undefined || isSettled) return
      conclude()
    },
    end: (position) => {
      clearTimeout(closing)
      if (isSettled || isAnsweredElsewhere) return settle()
      resumeLater({ ...from, ...position }, resumes, new WireFailure(endedEarly(context), "sent"))
    },
    refused: (refused) => {
      if (resumes > 0) {
        const { ends, reason } = refused.failure
        return settle(new WireFailure(ends ? reason : endedEarly(context), "sent", ends))
      }
      const answer = answerIn(message, refused)
      if (answer !== undefined) delivery.onMessage(answer, refused.body)
      settle(answer === undefined ? refused.failure : undefined)
    },
    broken: (failure, position) => {
      clearTimeout(closing)
      if (!isSettled) resumeLater({ ...from, ...position }, resumes, failure)
    }
  })

  abort = exchange(context, client, delivery.request, handler(0, {}))
  return () => {
    isSettled = true
    clearTimeout(closing)
    abort()
  }
}

/** Milliseconds. The maximum wait before a resumption, also if the server sets a longer one. */
const longestWait = 60_000

const isHeaderValue = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)

const endedEarly = ({ server }: HttpContext): ConnectionError =>
  new ConnectionClosed({ server, detail: "its answer ended before it was complete" })

/** The error response in the body of a refusal. A server may refuse a request by status and give the reason as JSON-RPC. */
const answerIn = (message: Message, { body, failure, status }: FailedResponse): Message | undefined => {
  if (status >= 500 || failure.reason._tag !== "HttpFailed" || !isRequest(message)) return undefined
  const answer = parseMessages(body).find(({ error, id }) => id === message.id && error !== undefined)
  const { code } = (answer?.error ?? {}) as { readonly code?: unknown }
  // For a refused `initialize`, the status identifies older servers and decides. Only a newer server sends this error code.
  return message.method === "initialize" && code !== errorCodes.UnsupportedProtocolVersion ? undefined : answer
}
