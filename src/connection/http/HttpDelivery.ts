/**
 * One message and everything that comes back for it. An answer that breaks off is asked for again where the server allows
 * it, so a delivery may take several exchanges.
 */
import type { IncomingHttpHeaders } from "node:http"
import { errorCodes } from "../../domain/catalog/Protocol.js"
import { ConnectionClosed, type ConnectionError } from "../../domain/Errors.js"
import type { HttpClient } from "./HttpClient.js"
import { exchange, type Handler, type Position, type Reading, type Refused, type Request } from "./HttpExchange.js"
import type { Context } from "./httpFailure.js"
import { isRequest, type Message, parseMessages, type WireEvents, WireFailure } from "../wire/Wire.js"

/** Milliseconds. A stream has nothing more to say after the answer: a server that does not close it gets it closed. */
const linger = 5000

/** How often an answer that broke off is asked for again. */
const maxResumes = 5

/** Milliseconds we wait before, unless the server says how long. */
const resumeAfter = 1000

export interface Delivery {
  readonly context: Reading
  readonly client: HttpClient
  readonly message: Message
  readonly request: Request
  /** Asks for what came after an event. */
  readonly resume: (lastEventId: string) => Request
  readonly onSent?: (() => void) | undefined
  readonly onAccepted: (headers: IncomingHttpHeaders) => void
  readonly onMessage: WireEvents["message"]
  /** Told once: all is well, or why not. */
  readonly settle: (failure?: WireFailure) => void
}

/** Delivers a message. The function it gives ends that without another word. */
export const deliver = (delivery: Delivery): (() => void) => {
  const { client, context, message } = delivery
  const id = isRequest(message) ? message.id : undefined
  let settled = false
  let elsewhere = false
  let abort = () => {}
  let closing: NodeJS.Timeout | undefined

  const settle = (failure?: WireFailure) => {
    if (settled) return
    settled = true
    delivery.settle(failure)
  }

  /** There is nothing to wait for, but the server may still have something to say. */
  const conclude = () => {
    closing = setTimeout(() => abort(), linger).unref()
    settle()
  }

  const again = ({ lastEventId, retry = resumeAfter }: Position, resumes: number, failure: WireFailure) => {
    const isResumable = failure.stage === "sent" || resumes > 0
    if (lastEventId === undefined || !isHeaderValue(lastEventId) || resumes >= maxResumes || !isResumable) {
      // what fails later is only the wish to hear the answer again
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
      // some servers answer on the stream for what they say unasked
      elsewhere = status === 202
      if (resumes > 0) return
      delivery.onAccepted(headers)
      if (id === undefined) conclude()
    },
    message: (answer, text) => {
      delivery.onMessage(answer, text)
      if (id === undefined || answer.id !== id || answer.method !== undefined || settled) return
      conclude()
    },
    end: (position) => {
      clearTimeout(closing)
      if (settled || elsewhere) return settle()
      again({ ...from, ...position }, resumes, new WireFailure(endedEarly(context), "sent"))
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
      if (!settled) again({ ...from, ...position }, resumes, failure)
    }
  })

  abort = exchange(context, client, delivery.request, handler(0, {}))
  return () => {
    settled = true
    clearTimeout(closing)
    abort()
  }
}

/** Milliseconds. A server that wants us to come back later than this does not want us to come back. */
const longestWait = 60_000

const isHeaderValue = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)

const endedEarly = ({ server }: Context): ConnectionError =>
  new ConnectionClosed({ server, detail: "its answer ended before it was complete" })

/** A server may refuse a request with a status and say why in a proper answer to it. */
const answerIn = (message: Message, { body, failure, status }: Refused): Message | undefined => {
  if (status >= 500 || failure.reason._tag !== "HttpFailed" || !isRequest(message)) return undefined
  const answer = parseMessages(body).find(({ error, id }) => id === message.id && error !== undefined)
  const { code } = (answer?.error ?? {}) as { readonly code?: unknown }
  // the status of a refused greeting tells older servers; only newer ones say in words that they are newer
  return message.method === "initialize" && code !== errorCodes.UnsupportedProtocolVersion ? undefined : answer
}
