/**
 * One request and the messages that come back for it, as one JSON text or as a stream of events.
 */
import type { IncomingHttpHeaders } from "node:http"
import { createParser } from "eventsource-parser"
import { ConnectionClosed, type ConnectionError, IncompatibleServer } from "../domain/Errors.js"
import type { HttpClient, HttpRequest } from "./HttpClient.js"
import { type Context, codeOf, networkError, neverLeft, refusalError } from "./httpFailure.js"
import * as LineReader from "./LineReader.js"
import { type Message, maxMessageBytes, parseMessages, WireFailure } from "./Wire.js"

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
  readonly message: (message: Message) => void
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

interface Reader {
  readonly data: (chunk: Buffer) => void
  readonly end: () => void
}

/** Sends a request. The function it gives ends the exchange without another word to the handler. */
export const exchange = (context: Context, client: HttpClient, request: Request, handler: Handler): (() => void) => {
  let reader: Reader | undefined
  let position: Position = {}
  let over = false

  const stop = () => {
    over = true
    abort()
  }
  const fail = (reason: ConnectionError, sent = true) => {
    if (over) return
    over = true
    handler.broken(new WireFailure(reason, sent), position)
  }
  const unreadable = (detail: string) => {
    fail(new IncompatibleServer({ server: context.server, detail }))
    abort()
  }
  const tooLong = () => unreadable(`it sent a message of more than ${maxMessageBytes} bytes`)

  const events = (): Reader => {
    const parser = createParser({
      onEvent: ({ data, event, id }) => {
        if (id !== undefined) position = { ...position, lastEventId: id }
        if (data === "" || over) return
        if (event !== undefined && event !== "message") return handler.event?.(event, data)
        for (const message of parseMessages(data)) handler.message(message)
      },
      onRetry: (retry) => {
        position = { ...position, retry }
      }
    })
    const data = LineReader.make({
      limit: maxMessageBytes,
      line: (line) => parser.feed(`${line}\n`),
      overflow: tooLong
    })
    return { data, end: () => handler.end(position) }
  }

  const json = (): Reader => {
    const chunks: Array<Buffer> = []
    let size = 0
    return {
      data: (chunk) => {
        size += chunk.length
        if (size > maxMessageBytes) tooLong()
        else chunks.push(chunk)
      },
      end: () => {
        const messages = parseMessages(
          (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)).toString("utf8")
        )
        if (messages.length === 0 && size > 0) return unreadable("its answer is no message")
        for (const message of messages) handler.message(message)
        handler.end(position)
      }
    }
  }

  const refusal = (status: number, headers: IncomingHttpHeaders): Reader => {
    const chunks: Array<Buffer> = []
    let size = 0
    return {
      data: (chunk) => {
        if (size < maxRefusalBytes) chunks.push(chunk)
        size += chunk.length
      },
      end: () => {
        const body = Buffer.concat(chunks).subarray(0, maxRefusalBytes).toString("utf8")
        const reason = refusalError(context, { status, headers, body, inSession: request.inSession })
        over = true
        // a login that allows too little is still one
        const ends = status === 401 || reason._tag === "SessionLost"
        handler.refused({ status, body, failure: new WireFailure(reason, true, ends) })
      }
    }
  }

  const readerFor = (status: number, headers: IncomingHttpHeaders): Reader | undefined => {
    const type = String(headers["content-type"] ?? "")
      .split(";", 1)[0]!
      .trim()
      .toLowerCase()
    if (type === "text/event-stream") return events()
    if (type === "application/json" && request.expects !== "stream") return json()
    if (request.expects === "nothing" || status === 202) return { data: () => {}, end: () => handler.end(position) }
    return undefined
  }

  const abort = client.request(request, {
    started: handler.started,
    head: (status, headers) => {
      if (over) return
      if (status < 200 || status >= 300) {
        reader = refusal(status, headers)
        return
      }
      handler.accepted?.(status, headers)
      reader = readerFor(status, headers)
      if (reader === undefined) unreadable(`its answer is of type "${context.scrub(String(headers["content-type"]))}"`)
    },
    data: (chunk) => {
      if (!over) reader?.data(chunk)
    },
    end: () => {
      if (over) return
      reader?.end()
      over = true
    },
    error: (error) => {
      if (reader === undefined) return fail(networkError(context, error), !neverLeft(error))
      fail(new ConnectionClosed({ server: context.server, detail: `its answer broke off: ${codeOf(error)}` }))
    }
  })
  return stop
}
