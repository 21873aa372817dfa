/**
 * Runs one HTTP request and reads the messages in its response, which is a JSON body or a stream of events.
 */
import type { IncomingHttpHeaders } from "node:http"
import { ConnectionClosed, type ConnectionError, IncompatibleServer } from "../../domain/Errors.js"
import * as ByteBuffer from "../wire/ByteBuffer.js"
import * as CredentialFailure from "./credentialFailure.js"
import * as EventReader from "./EventReader.js"
import { maxEventLines } from "./EventReader.js"
import { type HttpClient, type HttpRequest, maxUnreadBytes } from "./HttpClient.js"
import { type HttpContext, codeOf, networkError, refusalError } from "./httpFailure.js"
import type { Flow, Intake } from "../wire/Intake.js"
import * as LineReader from "../wire/LineReader.js"
import * as MessageReader from "../wire/MessageReader.js"
import * as StrayLimit from "../wire/StrayLimit.js"
import { maxMessageBytes, maxMessageValues, type Stage, type WireEvents, WireFailure } from "../wire/Wire.js"

/** The state that all exchanges of one server share. */
export interface ExchangeContext extends HttpContext {
  readonly intake: Intake
  /** Counts a line of this many bytes that belongs to no message. Each kilobyte counts as another line. */
  readonly stray: (bytes: number) => void
  readonly awaits: WireEvents["awaits"]
  /** Counts and reports messages that were too long. */
  readonly dropped: WireEvents["dropped"]
}

/**
 * Creates the shared state.
 *
 * @param tooMuch closes the connection of a server that sends too much besides messages.
 */
export const readingOf = (
  context: HttpContext & { readonly events: Pick<WireEvents, "awaits" | "dropped"> },
  intake: Intake,
  tooMuch: (reason: ConnectionError) => void
): ExchangeContext => {
  const strays = StrayLimit.make()
  const { server } = context
  const { awaits, dropped } = context.events
  const stray = (bytes: number) => {
    if (strays.count(bytes)) tooMuch(new ConnectionClosed({ server, detail: StrayLimit.strayDetail }))
  }
  return {
    ...context,
    intake,
    stray,
    awaits,
    dropped: (envelopes, bytes) => {
      dropped(envelopes, bytes)
      stray(StrayLimit.bytesOfDropped(envelopes, bytes))
    }
  }
}

/** The position of an event stream at its end. */
export interface Position {
  readonly lastEventId?: string | undefined
  /** The time in milliseconds after which the server wants the client to reconnect. */
  readonly retry?: number | undefined
}

export interface ExchangeRequest extends HttpRequest {
  /** Whether the request belongs to a session. */
  readonly inSession: boolean
  readonly expects: "answer" | "stream" | "nothing"
}

export interface FailedResponse {
  readonly status: number
  /** The beginning of the body. */
  readonly body: string
  readonly failure: WireFailure
}

export interface Handler {
  readonly started?: (() => void) | undefined
  /** The server accepted the request. */
  readonly accepted?: ((status: number, headers: IncomingHttpHeaders) => void) | undefined
  readonly message: WireEvents["message"]
  /** An event that is no message, such as the `endpoint` of the older transport. Returns whether it was used. */
  readonly event?: ((name: string, data: string) => boolean) | undefined
  /** The response is complete. */
  readonly end: (position: Position) => void
  /** The server refused the request. */
  readonly refused: (refused: FailedResponse) => void
  /** The response broke off, or there was none. */
  readonly broken: (failure: WireFailure, position: Position) => void
}

/** The maximum bytes that are read of the body of a refusal. */
const maxRefusalBytes = 16 * 1024

/** Milliseconds. The maximum time to read a body that holds no messages. */
const unreadMillis = 1000

interface Reader {
  readonly data: (chunk: Buffer) => void
  /** The body is complete, or it broke off with the error `broken`. */
  readonly end: (broken?: Error) => void
}

/** Sends a request. The returned function ends the exchange; the handler is not called any more. */
export const exchange = (
  context: ExchangeContext,
  client: HttpClient,
  request: ExchangeRequest,
  handler: Handler
): (() => void) => {
  const { intake, server, stray } = context
  let reader: Reader | undefined
  let release = () => {}
  let position: Position = {}
  let started = false
  let isEnded = false

  /** Ends the exchange with one last callback. */
  const conclude = (tell: () => void) => {
    if (isEnded) return
    isEnded = true
    release()
    tell()
  }
  const breakOff = (reason: ConnectionError, stage: Stage = "sent") =>
    conclude(() => handler.broken(new WireFailure(reason, stage), position))
  const unreadable = (detail: string) => {
    breakOff(new IncompatibleServer({ server, detail }))
    abort()
  }
  const tooLong = () => unreadable(`it sent a message of more than ${maxMessageBytes} bytes`)
  const finish = (broken: Error | undefined) => {
    if (broken === undefined) return conclude(() => handler.end(position))
    breakOff(new ConnectionClosed({ server, detail: `its answer broke off: ${codeOf(broken)}` }))
  }

  const sourceOf = (flow: Flow, step: () => number) => {
    const source = intake.source(flow, step)
    release = source.close
    return source
  }

  const messageReader = () =>
    MessageReader.make({
      message: handler.message,
      awaits: context.awaits,
      tooManyValues: () => unreadable(`it sent a message of more than ${maxMessageValues} values and keys`),
      dropped: context.dropped
    })

  const readEvents = (flow: Flow): Reader => {
    const messages = messageReader()
    const lines = LineReader.make({ limit: maxMessageBytes, overflow: tooLong, carriageReturns: true })
    const reader = EventReader.make({
      event: (name, data) => {
        if (data.length === 0 || isEnded) return false
        if (name === "" || name === "message") return messages.take(data) !== "nothing"
        return handler.event?.(name, data.toString("utf8")) === true
      },
      id: (lastEventId) => {
        position = { ...position, lastEventId }
      },
      retry: (retry) => {
        position = { ...position, retry }
      },
      stray,
      tooLong,
      tooManyLines: () => unreadable(`it sent an event of more than ${maxEventLines} lines`)
    })
    const source = sourceOf(flow, () => (isEnded ? 0 : messages.next() || reader.read(lines)))
    return {
      data: (chunk) => {
        lines.push(chunk)
        source.arrived()
      },
      end: (broken) => source.ended(() => finish(broken))
    }
  }

  const readJson = (flow: Flow): Reader => {
    const body = ByteBuffer.make()
    const messages = messageReader()
    const source = sourceOf(flow, () => (isEnded ? 0 : messages.next()))
    return {
      data: (chunk) => {
        source.arrived()
        body.add(chunk)
        if (body.size() > maxMessageBytes) tooLong()
      },
      end: (broken) => {
        if (broken !== undefined) return finish(broken)
        const taken = messages.take(body.take())
        if (taken !== "messages" && request.expects === "answer") return unreadable("its answer is no message")
        source.arrived()
        source.ended(() => finish(undefined))
      }
    }
  }

  /** Reads a body without messages, limited in size and time, so that the connection can be reused. */
  const readLimited = (
    maxBytes: number,
    decide: (broken: Error | undefined) => void,
    data?: (chunk: Buffer) => void
  ) => {
    let size = 0
    const done = (broken?: Error) => {
      clearTimeout(timer)
      decide(broken)
    }
    const cut = () => {
      done()
      abort()
    }
    const timer = setTimeout(cut, unreadMillis)
    release = () => clearTimeout(timer)
    return {
      data: (chunk: Buffer) => {
        size += chunk.length
        data?.(chunk)
        if (size > maxBytes) cut()
      },
      end: done
    }
  }

  const readRefusal = (status: number, headers: IncomingHttpHeaders): Reader => {
    const read = ByteBuffer.make()
    const decide = () => {
      const isCut = read.size() > maxRefusalBytes
      const body = read.take().toString("utf8", 0, maxRefusalBytes)
      const reason = refusalError(context, { status, headers, body, isCut, inSession: request.inSession })
      // A 403 for a missing scope does not end the connection: the login is still valid.
      const ends = status === 401 || reason._tag === "SessionLost"
      conclude(() => handler.refused({ status, body, failure: new WireFailure(reason, "refused", ends) }))
      abort()
    }
    return readLimited(maxRefusalBytes, decide, read.add)
  }

  const readerFor = (status: number, headers: IncomingHttpHeaders, flow: Flow): Reader | undefined => {
    const type = String(headers["content-type"] ?? "")
      .split(";", 1)[0]!
      .trim()
      .toLowerCase()
    if (type === "text/event-stream") return readEvents(flow)
    if (type === "application/json" && request.expects !== "stream") return readJson(flow)
    return request.expects === "nothing" || status === 202 ? readLimited(maxUnreadBytes, finish) : undefined
  }

  const abort = client.request(request, {
    started: () => {
      started = true
      handler.started?.()
    },
    head: (status, headers, flow) => {
      if (isEnded) return
      if (status < 200 || status >= 300) {
        reader = readRefusal(status, headers)
        return
      }
      handler.accepted?.(status, headers)
      reader = readerFor(status, headers, flow)
      if (reader === undefined) unreadable(`its answer is of type "${context.scrub(String(headers["content-type"]))}"`)
    },
    data: (chunk) => {
      if (!isEnded) reader?.data(chunk)
    },
    end: () => {
      if (!isEnded) reader?.end()
    },
    error: (error) => {
      if (isEnded) return
      if (reader === undefined) breakOff(networkError(context, error), started ? "sent" : "unsent")
      else reader.end(error)
    },
    denied: (reason, ends) => {
      // Whatever the reason, the server did not accept the request.
      const failure = new WireFailure(
        CredentialFailure.scrubbed(context.scrub)(reason),
        reason._tag === "AuthRequired" ? "refused" : "unsent",
        ends
      )
      conclude(() => handler.refused({ status: ends ? 401 : 403, body: "", failure }))
    }
  })
  return () => {
    isEnded = true
    release()
    abort()
  }
}
