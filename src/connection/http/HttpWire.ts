/**
 * The wire for streamable HTTP. Each message is one request, and its response may be a stream.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { ConnectionClosed, type ConnectionError } from "../../domain/Errors.js"
import { withinBudget } from "../../system/budget.js"
import { type HttpClient, tracked } from "./HttpClient.js"
import { deliver } from "./HttpDelivery.js"
import { exchange, readingOf, type ExchangeRequest } from "./HttpExchange.js"
import type { HttpContext } from "./httpFailure.js"
import { lowerCase, modernHeaders } from "./httpHeaders.js"
import * as HttpPush from "./HttpPush.js"
import * as Intake from "../wire/Intake.js"
import {
  isRequest,
  type Message,
  type MessageId,
  serialise,
  type Wire,
  type WireEvents,
  WireFailure
} from "../wire/Wire.js"

export interface Options extends HttpContext {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly userAgent: string
  readonly client: HttpClient
  readonly events: WireEvents
}

/** The maximum wait for the response to the DELETE request that ends the session. */
const deleteSessionBudget = "1 second"

/**
 * Milliseconds. After a server has lost the session, the responses to the other requests in flight are awaited for this long.
 */
const verdictBudget = 1000

interface InFlight {
  started: boolean
  abort: () => void
  readonly failed: (failure: WireFailure) => void
}

export const open = (options: Options): Effect.Effect<Wire, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { events, server, url } = options
    const client = tracked(options.client)
    const intake = Intake.open()
    const reading = readingOf(options, intake, (reason) => end(reason))
    const initialized = yield* Deferred.make<void>()
    const concluded = yield* Deferred.make<void>()
    const inFlight = new Map<MessageId, InFlight>()
    const fixed = { "user-agent": options.userAgent, ...lowerCase(options.headers) }
    let sessionId: string | undefined
    let revision: string | undefined
    let endReason: ConnectionError | undefined
    let finished = false
    let verdicts: NodeJS.Timeout | undefined
    let headers: Readonly<Record<string, string>> = fixed

    const updateHeaders = () => {
      headers = {
        ...fixed,
        ...(sessionId === undefined ? {} : { "mcp-session-id": sessionId }),
        ...(revision === undefined ? {} : { "mcp-protocol-version": revision })
      }
    }

    /**
     * Stops sending. If the server has lost the session, it will refuse the requests in flight as well. Their responses show
     * which requests were not executed, so they are awaited.
     */
    const end = (reason: ConnectionError) => {
      if (endReason !== undefined) return
      if (reason._tag !== "SessionLost" || inFlight.size === 0) return finish(reason)
      endReason = reason
      events.closing(reason)
      verdicts = setTimeout(() => finish(reason), verdictBudget)
    }

    const finish = (reason: ConnectionError) => {
      if (finished) return
      finished = true
      endReason ??= reason
      intake.close()
      clearTimeout(verdicts)
      Deferred.unsafeDone(concluded, Effect.void)
      for (const { abort, failed, started } of inFlight.values()) {
        abort()
        failed(new WireFailure(reason, started ? "sent" : "unsent"))
      }
      inFlight.clear()
      client.abortAll()
      events.closed(endReason)
    }

    const post = (
      message: Message,
      body: string,
      extra: Readonly<Record<string, string>> | undefined
    ): ExchangeRequest => ({
      method: "POST",
      url,
      body,
      inSession: sessionId !== undefined && message.method !== "initialize",
      expects: isRequest(message) ? "answer" : "nothing",
      headers: { ...headers, ...extra, ...modernHeaders(message), ...jsonIn, ...anyOut }
    })

    const get = (lastEventId: string | undefined): ExchangeRequest => ({
      method: "GET",
      url,
      inSession: sessionId !== undefined,
      expects: "stream",
      headers: { ...headers, ...streamOut, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) }
    })

    const send: Wire["send"] = (message, callbacks, extra) => {
      if (endReason !== undefined) return callbacks.failed(new WireFailure(endReason, "unsent"))
      const body = serialise(server, message)
      if (typeof body !== "string") return callbacks.failed(body)
      const entry: InFlight = { started: false, abort: () => {}, failed: callbacks.failed }
      if (isRequest(message)) inFlight.set(message.id, entry)
      entry.abort = deliver({
        context: reading,
        client,
        message,
        request: post(message, body, extra),
        resume: get,
        onSent: () => {
          entry.started = true
          callbacks.sent?.()
        },
        onAccepted: (answered) => {
          if (message.method !== "initialize") return
          sessionId = answered["mcp-session-id"] as string | undefined
          updateHeaders()
        },
        onMessage: events.message,
        settle: (failure) => {
          if (isRequest(message)) inFlight.delete(message.id)
          if (failure === undefined) callbacks.done?.()
          else callbacks.failed(failure)
          if (failure?.ends) end(failure.reason)
          if (verdicts !== undefined && inFlight.size === 0) finish(endReason!)
          // From now on the server may send messages of its own.
          if (message.method === "notifications/initialized" && failure === undefined) {
            Deferred.unsafeDone(initialized, Effect.void)
          }
        }
      })
    }

    const deleteSession = Effect.async<void>((resume) => {
      const done = () => resume(Effect.void)
      const request: ExchangeRequest = { method: "DELETE", url, headers, inSession: true, expects: "nothing" }
      // The intake of the session is already closed.
      const farewell = { ...reading, intake: Intake.open() }
      return Effect.sync(exchange(farewell, client, request, { message: done, end: done, refused: done, broken: done }))
    }).pipe(withinBudget(deleteSessionBudget), Effect.asVoid)

    yield* Effect.addFinalizer(() => {
      if (endReason !== undefined && !finished) return Deferred.await(concluded)
      const isKnown = sessionId !== undefined && endReason === undefined
      finish(new ConnectionClosed({ server, detail: "it was closed by us" }))
      return isKnown ? deleteSession : Effect.void
    })
    yield* Deferred.await(initialized).pipe(
      Effect.zipRight(HttpPush.keepOpen({ context: reading, client, request: get, events, lost: end })),
      Effect.interruptible,
      Effect.forkScoped
    )

    const wire: Wire = {
      transport: "streamable-http",
      send,
      retract: (id) => {
        const entry = inFlight.get(id)
        inFlight.delete(id)
        entry?.abort()
        entry?.failed(new WireFailure(new ConnectionClosed({ server, detail: "no longer wanted" }), "sent"))
      },
      agreed: (agreedRevision) => {
        revision = agreedRevision
        updateHeaders()
      },
      pause: intake.pause,
      resume: intake.resume
    }
    return wire
  })

const jsonIn = { "content-type": "application/json" }
const anyOut = { accept: "application/json, text/event-stream" }
const streamOut = { accept: "text/event-stream" }
