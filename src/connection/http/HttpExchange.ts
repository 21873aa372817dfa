/**
 * One request and the messages that come back for it, as one JSON text or as a stream of events.
 */
import type { IncomingHttpHeaders } from "node:http"
import { ConnectionClosed, type ConnectionError, IncompatibleServer } from "../../domain/Errors.js"
import * as ByteBuffer from "../wire/ByteBuffer.js"
import * as CredentialFailure from "./credentialFailure.js"
import * as EventReader from "./EventReader.js"
import { maxEventLines } from "./EventReader.js"
import { type HttpClient, type HttpRequest, maxUnreadBytes } from "./HttpClient.js"
import { type Context, codeOf, networkError, refusalError } from "./httpFailure.js"
import type { Flow, Intake } from "../wire/Intake.js"
import * as LineReader from "../wire/LineReader.js"
import * as MessageReader from "../wire/MessageReader.js"
import * as StrayLimit from "../wire/StrayLimit.js"
import { maxMessageBytes, maxMessageValues, type Stage, type WireEvents, WireFailure } from "../wire/Wire.js"

/** What the exchanges of one server share. */
export interface Reading extends Context {
  readonly intake: Intake
  /** Counts a line of so many bytes that belongs to no message. A kilobyte counts as another line. */
  readonly stray: (bytes: number) => void
  readonly awaits: WireEvents["awaits"]
  /** Counts messages that were too long, and tells them. */
  readonly dropped: WireEvents["dropped"]
}

/** @param tooMuch ends the connection of a server that writes too much that is no message. */
export const readingOf = (
  context: Context & { readonly events: Pick<WireEvents, "awaits" | "dropped"> },
  intake: Intake,
  tooMuch: (reason: ConnectionError) => void
): Reading => {
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

/** Where a stream of events stood when it ended. */
export interface Position {
  readonly lastEventId?: string | undefined
  /** Milliseconds the server wants us to wait before we come back. */
  readonly retry?: number | undefined
}

export interface Request extends HttpRequest {
  /** Whether it names a session. */
  readonly inSession: boolean
  readonly expects: "answer" | "stream" | "nothing"
}

export interface Refused {
  readonly status: number
  /** The beginning of the body. */
  readonly body: string
  readonly failure: WireFailure
}

export interface Handler {
  readonly started?: (() => void) | undefined
  /** The server took the request. */
  readonly accepted?: ((status: number, headers: IncomingHttpHeaders) => void) | undefined
  readonly message: WireEvents["message"]
  /** An event that is no message, such as the address of the older transport. Whether there is a use for it. */
  readonly event?: ((name: string, data: string) => boolean) | undefined
  /** The answer is over, in good order. */
  readonly end: (position: Position) => void
  /** The server did not take the request. */
  readonly refused: (refused: Refused) => void
  /** The answer broke off, or there was none. */
  readonly broken: (failure: WireFailure, position: Position) => void
}

/** Of a body that says why. */
const maxRefusalBytes = 16 * 1024

/** Milliseconds that such bodies may take. */
const unreadMillis = 1000

interface Reader {
  readonly data: (chunk: Buffer) => void
  /** The body is complete, or (`broken`) there will be no more of it. */
  readonly end: (broken?: Error) => void
}

/** Sends a request. The function it gives ends the exchange without another word to the handler. */
export const exchange = (context: Reading, client: HttpClient, request: Request, handler: Handler): (() => void) => {
  const { intake, server, stray } = context
  let reader: Reader | undefined
  let release = () => {}
  let position: Position = {}
  let started = false
  let over = false

  /** Nothing is said after it. */
  const conclude = (tell: () => void) => {
    if (over) return
    over = true
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

  const events = (flow: Flow): Reader => {
    const messages = messageReader()
    const lines = LineReader.make({ limit: maxMessageBytes, overflow: tooLong, carriageReturns: true })
    const reader = EventReader.make({
      event: (name, data) => {
        if (data.length === 0 || over) return false
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
    const source = sourceOf(flow, () => (over ? 0 : messages.next() || reader.read(lines)))
    return {
      data: (chunk) => {
        lines.push(chunk)
        source.arrived()
      },
      end: (broken) => source.ended(() => finish(broken))
    }
  }

  const json = (flow: Flow): Reader => {
    const body = ByteBuffer.make()
    const messages = messageReader()
    const source = sourceOf(flow, () => (over ? 0 : messages.next()))
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

  /** Reads a body that decides nothing for a moment, so that the connection can be used again. */
  const limited = (maxBytes: number, decide: (broken: Error | undefined) => void, data?: (chunk: Buffer) => void) => {
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

  const refusal = (status: number, headers: IncomingHttpHeaders): Reader => {
    const read = ByteBuffer.make()
    const decide = () => {
      const isCut = read.size() > maxRefusalBytes
      const body = read.take().toString("utf8", 0, maxRefusalBytes)
      const reason = refusalError(context, { status, headers, body, isCut, inSession: request.inSession })
      // a login that allows too little is still one
      const ends = status === 401 || reason._tag === "SessionLost"
      conclude(() => handler.refused({ status, body, failure: new WireFailure(reason, "refused", ends) }))
      abort()
    }
    return limited(maxRefusalBytes, decide, read.add)
  }

  const readerFor = (status: number, headers: IncomingHttpHeaders, flow: Flow): Reader | undefined => {
    const type = String(headers["content-type"] ?? "")
      .split(";", 1)[0]!
      .trim()
      .toLowerCase()
    if (type === "text/event-stream") return events(flow)
    if (type === "application/json" && request.expects !== "stream") return json(flow)
    return request.expects === "nothing" || status === 202 ? limited(maxUnreadBytes, finish) : undefined
  }

  const abort = client.request(request, {
    started: () => {
      started = true
      handler.started?.()
    },
    head: (status, headers, flow) => {
      if (over) return
      if (status < 200 || status >= 300) {
        reader = refusal(status, headers)
        return
      }
      handler.accepted?.(status, headers)
      reader = readerFor(status, headers, flow)
      if (reader === undefined) unreadable(`its answer is of type "${context.scrub(String(headers["content-type"]))}"`)
    },
    data: (chunk) => {
      if (!over) reader?.data(chunk)
    },
    end: () => {
      if (!over) reader?.end()
    },
    error: (error) => {
      if (over) return
      if (reader === undefined) breakOff(networkError(context, error), started ? "sent" : "unsent")
      else reader.end(error)
    },
    denied: (reason, ends) => {
      // whatever the reason: the server has not taken the request
      const failure = new WireFailure(
        CredentialFailure.scrubbed(context.scrub)(reason),
        reason._tag === "AuthRequired" ? "refused" : "unsent",
        ends
      )
      conclude(() => handler.refused({ status: ends ? 401 : 403, body: "", failure }))
    }
  })
  return () => {
    over = true
    release()
    abort()
  }
}
