/**
 * Streamable HTTP: each message is a request of its own, and its answer may be a stream.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { ConnectionClosed, type ConnectionError } from "../../domain/Errors.js"
import { withinBudget } from "../../system/budget.js"
import { type HttpClient, tracked } from "./HttpClient.js"
import { deliver } from "./HttpDelivery.js"
import { exchange, readingOf, type Request } from "./HttpExchange.js"
import type { Context } from "./httpFailure.js"
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

export interface Options extends Context {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly userAgent: string
  readonly client: HttpClient
  readonly events: WireEvents
}

/** How long we wait for the server to take note that we leave. */
const farewellBudget = "1 second"

/** Milliseconds that requests of a session which the server has forgotten may take to hear so themselves. */
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
    let over: ConnectionError | undefined
    let finished = false
    let verdicts: NodeJS.Timeout | undefined
    let headers: Readonly<Record<string, string>> = fixed

    const remember = () => {
      headers = {
        ...fixed,
        ...(sessionId === undefined ? {} : { "mcp-session-id": sessionId }),
        ...(revision === undefined ? {} : { "mcp-protocol-version": revision })
      }
    }

    /**
     * Nothing more is sent. Where the server has forgotten the session, what was sent before will be told so as well, and that
     * tells whether it was executed: it is waited for.
     */
    const end = (reason: ConnectionError) => {
      if (over !== undefined) return
      if (reason._tag !== "SessionLost" || inFlight.size === 0) return finish(reason)
      over = reason
      events.closing(reason)
      verdicts = setTimeout(() => finish(reason), verdictBudget)
    }

    const finish = (reason: ConnectionError) => {
      if (finished) return
      finished = true
      over ??= reason
      intake.close()
      clearTimeout(verdicts)
      Deferred.unsafeDone(concluded, Effect.void)
      for (const { abort, failed, started } of inFlight.values()) {
        abort()
        failed(new WireFailure(reason, started ? "sent" : "unsent"))
      }
      inFlight.clear()
      client.abortAll()
      events.closed(over)
    }

    const post = (message: Message, body: string, extra: Readonly<Record<string, string>> | undefined): Request => ({
      method: "POST",
      url,
      body,
      inSession: sessionId !== undefined && message.method !== "initialize",
      expects: isRequest(message) ? "answer" : "nothing",
      headers: { ...headers, ...extra, ...modernHeaders(message), ...jsonIn, ...anyOut }
    })

    const get = (lastEventId: string | undefined): Request => ({
      method: "GET",
      url,
      inSession: sessionId !== undefined,
      expects: "stream",
      headers: { ...headers, ...streamOut, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) }
    })

    const send: Wire["send"] = (message, fate, extra) => {
      if (over !== undefined) return fate.failed(new WireFailure(over, "unsent"))
      const body = serialise(server, message)
      if (typeof body !== "string") return fate.failed(body)
      const entry: InFlight = { started: false, abort: () => {}, failed: fate.failed }
      if (isRequest(message)) inFlight.set(message.id, entry)
      entry.abort = deliver({
        context: reading,
        client,
        message,
        request: post(message, body, extra),
        resume: get,
        onSent: () => {
          entry.started = true
          fate.sent?.()
        },
        onAccepted: (answered) => {
          if (message.method !== "initialize") return
          sessionId = answered["mcp-session-id"] as string | undefined
          remember()
        },
        onMessage: events.message,
        settle: (failure) => {
          if (isRequest(message)) inFlight.delete(message.id)
          if (failure === undefined) fate.done?.()
          else fate.failed(failure)
          if (failure?.ends) end(failure.reason)
          if (verdicts !== undefined && inFlight.size === 0) finish(over!)
          // from now on the server may speak unasked
          if (message.method === "notifications/initialized" && failure === undefined) {
            Deferred.unsafeDone(initialized, Effect.void)
          }
        }
      })
    }

    const sayFarewell = Effect.async<void>((resume) => {
      const done = () => resume(Effect.void)
      const request: Request = { method: "DELETE", url, headers, inSession: true, expects: "nothing" }
      // by now the intake of the session is closed
      const farewell = { ...reading, intake: Intake.open() }
      return Effect.sync(exchange(farewell, client, request, { message: done, end: done, refused: done, broken: done }))
    }).pipe(withinBudget(farewellBudget), Effect.asVoid)

    yield* Effect.addFinalizer(() => {
      if (over !== undefined && !finished) return Deferred.await(concluded)
      const isKnown = sessionId !== undefined && over === undefined
      finish(new ConnectionClosed({ server, detail: "it was closed by us" }))
      return isKnown ? sayFarewell : Effect.void
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
        remember()
      },
      pause: intake.pause,
      resume: intake.resume
    }
    return wire
  })

const jsonIn = { "content-type": "application/json" }
const anyOut = { accept: "application/json, text/event-stream" }
const streamOut = { accept: "text/event-stream" }
