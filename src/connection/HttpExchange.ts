/**
 * One request and the messages that come back for it, as one JSON text or as a stream of events.
 */
import type { IncomingHttpHeaders } from "node:http"
import { createParser } from "eventsource-parser"
import { ConnectionClosed, type ConnectionError, IncompatibleServer } from "../domain/Errors.js"
import * as CredentialFailure from "./credentialFailure.js"
import type { HttpClient, HttpRequest } from "./HttpClient.js"
import { type Context, codeOf, networkError, refusalError } from "./httpFailure.js"
import type { Flow, Intake } from "./Intake.js"
import * as LineReader from "./LineReader.js"
import * as MessageReader from "./MessageReader.js"
import { maxMessageBytes, maxMessageValues, type Stage, type WireEvents, WireFailure } from "./Wire.js"

/** What the exchanges of one server share. */
export interface Reading extends Context {
  readonly intake: Intake
  /** Counts a line of so many bytes that belongs to no message. A kilobyte counts as another line. */
  readonly stray: (bytes: number) => void
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
  /** An event that is no message, such as the address of the older transport. */
  readonly event?: ((name: string, data: string) => void) | undefined
  /** The answer is over, in good order. */
  readonly end: (position: Position) => void
  /** The server did not take the request. */
  readonly refused: (refused: Refused) => void
  /** The answer broke off, or there was none. */
  readonly broken: (failure: WireFailure, position: Position) => void
}

/** Of a body that says why. */
const maxRefusalBytes = 16 * 1024

/** Milliseconds such a body may take. The status says most of it. */
const refusalMillis = 1000

interface Reader {
  readonly data: (chunk: Buffer) => void
  /** The body is complete, or (`broken`) there will be no more of it. */
  readonly end: (broken?: Error) => void
}

/** Sends a request. The function it gives ends the exchange without another word to the handler. */
export const exchange = (context: Reading, client: HttpClient, request: Request, handler: Handler): (() => void) => {
  const { intake, server, stray } = context
  let reader: Reader | undefined
  let closeSource = () => {}
  let position: Position = {}
  let started = false
  let over = false

  /** Nothing is said after it. */
  const conclude = (tell: () => void) => {
    if (over) return
    over = true
    closeSource()
    tell()
  }
  const breakOff = (reason: ConnectionError, stage: Stage = "sent") =>
    conclude(() => handler.broken(new WireFailure(reason, stage), position))
  const unreadable = (detail: string) => {
    breakOff(new IncompatibleServer({ server, detail }))
    abort()
  }
  const tooLong = () => unreadable(`it sent a message of more than ${maxMessageBytes} bytes`)
  const tooManyValues = () => unreadable(`it sent a message of more than ${maxMessageValues} values`)
  const finish = (broken: Error | undefined) => {
    if (broken === undefined) return conclude(() => handler.end(position))
    breakOff(new ConnectionClosed({ server, detail: `its answer broke off: ${codeOf(broken)}` }))
  }

  const sourceOf = (flow: Flow, step: () => number) => {
    const source = intake.source(flow, step)
    closeSource = source.close
    return source
  }

  const events = (flow: Flow): Reader => {
    /** Characters and lines of an event that is not complete. */
    let size = 0
    let count = 0
    let isMessage = false
    const messages = MessageReader.make({ message: handler.message, tooManyValues })
    const lines = LineReader.make({ limit: maxMessageBytes, overflow: () => tooLong(), carriageReturns: true })
    const parser = createParser({
      onEvent: ({ data, event, id }) => {
        if (id !== undefined) position = { ...position, lastEventId: id }
        if (data === "" || over) return
        isMessage = event === undefined || event === "message" ? messages.take(data) : handler.event !== undefined
        if (event !== undefined && event !== "message") handler.event?.(event, data)
      },
      onRetry: (retry) => {
        position = { ...position, retry }
      }
    })
    /** Comments keep a connection alive, and are nothing else. */
    const readLine = (): number => {
      if (!lines.next()) return 0
      const bytes = lines.size()
      const weight = lineWeight + bytes
      if (lines.firstByte() === colon) {
        stray(bytes)
        return weight
      }
      const text = lines.text()
      count += 1
      size += text.length
      if (size > maxMessageBytes) {
        tooLong()
        return weight
      }
      isMessage = false
      parser.feed(`${text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text}\n`)
      // an event ends with an empty line, and is kept until then
      if (text !== "") return weight
      if (!isMessage) stray(size + (count - 1) * 1024)
      size = 0
      count = 0
      return weight
    }
    const source = sourceOf(flow, () => (over ? 0 : messages.next() || readLine()))
    return {
      data: (chunk) => {
        lines.push(chunk)
        source.arrived()
      },
      end: (broken) => source.ended(() => finish(broken))
    }
  }

  const json = (flow: Flow): Reader => {
    const chunks: Array<Buffer> = []
    const messages = MessageReader.make({ message: handler.message, tooManyValues })
    const source = sourceOf(flow, () => (over ? 0 : messages.next()))
    let size = 0
    return {
      data: (chunk) => {
        size += chunk.length
        source.arrived()
        if (size > maxMessageBytes) tooLong()
        else chunks.push(chunk)
      },
      end: (broken) => {
        if (broken !== undefined) return finish(broken)
        const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)).toString("utf8")
        if (!messages.take(text) && request.expects === "answer") return unreadable("its answer is no message")
        source.arrived()
        source.ended(() => finish(undefined))
      }
    }
  }

  const refusal = (status: number, headers: IncomingHttpHeaders): Reader => {
    const chunks: Array<Buffer> = []
    let size = 0
    const decide = () => {
      clearTimeout(timer)
      const body = Buffer.concat(chunks).subarray(0, maxRefusalBytes).toString("utf8")
      const isCut = size > maxRefusalBytes
      const reason = refusalError(context, { status, headers, body, isCut, inSession: request.inSession })
      // a login that allows too little is still one
      const ends = status === 401 || reason._tag === "SessionLost"
      conclude(() => handler.refused({ status, body, failure: new WireFailure(reason, "refused", ends) }))
      abort()
    }
    const timer = setTimeout(decide, refusalMillis)
    return {
      data: (chunk) => {
        if (size <= maxRefusalBytes) chunks.push(chunk)
        size += chunk.length
        if (size > maxRefusalBytes) decide()
      },
      end: decide
    }
  }

  const readerFor = (status: number, headers: IncomingHttpHeaders, flow: Flow): Reader | undefined => {
    const type = String(headers["content-type"] ?? "")
      .split(";", 1)[0]!
      .trim()
      .toLowerCase()
    if (type === "text/event-stream") return events(flow)
    if (type === "application/json" && request.expects !== "stream") return json(flow)
    return request.expects === "nothing" || status === 202 ? { data: () => {}, end: finish } : undefined
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
    closeSource()
    abort()
  }
}

/** What a line of a stream weighs besides its bytes. */
const lineWeight = 32

const colon = 0x3a
const byteOrderMark = 0xfeff
