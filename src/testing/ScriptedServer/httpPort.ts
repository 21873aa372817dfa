/**
 * Writes the response to one HTTP request, as JSON or, if it holds more than one message, as an event stream.
 */
import type { ServerResponse } from "node:http"
import { createGzip, type Gzip } from "node:zlib"
import type { Port } from "./engine.js"
import type { Head, HttpStep } from "./model.js"

export interface HttpPort extends Port<HttpStep> {
  readonly setHeader: (name: string, value: string) => void
  /** Sends a complete response without a body. */
  readonly respond: (status: number, headers: Readonly<Record<string, string>>) => void
}

export const makePort = (
  response: ServerResponse,
  options: {
    /** Whether responses are event streams by default. */
    readonly sse: boolean
    /** Whether the response stays open after a message. */
    readonly isStream: boolean
    readonly forget: () => void
    /** Called when an event stream has begun. */
    readonly opened: (port: HttpPort) => void
  }
): HttpPort => {
  let head: Head = {}
  let gzip: Gzip | undefined

  /** Sends the head, unless it was sent before. */
  const start = (contentType: string | undefined) => {
    if (response.headersSent) return
    if (contentType !== undefined) response.setHeader("content-type", contentType)
    if (head.gzip === true) {
      response.setHeader("content-encoding", "gzip")
      gzip = createGzip()
      // A script may write after the end: this error is ignored.
      gzip.on("error", () => {})
      gzip.pipe(response)
    }
    response.writeHead(head.status ?? 200, { ...head.headers })
    response.flushHeaders()
    if (contentType === "text/event-stream") options.opened(port)
  }

  const writeOnce = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => {
      if (response.destroyed) return resolve()
      if (gzip === undefined) return void response.write(bytes, () => resolve())
      gzip.write(bytes)
      return gzip.flush(() => resolve())
    })

  const write = async (bytes: Uint8Array) => {
    const size = head.chunk ?? bytes.length
    for (let from = 0; from < bytes.length; from += size) {
      await writeOnce(bytes.subarray(from, from + size))
      // Waits for one turn of the event loop, so that the chunks arrive separately.
      if (head.chunk !== undefined) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const end = () => {
    start(undefined)
    if (gzip === undefined) response.end()
    else gzip.end()
  }

  const event = async (fields: Readonly<Record<string, string | number | undefined>>) => {
    start("text/event-stream")
    const lines = Object.entries(fields).filter(([, value]) => value !== undefined)
    await write(Buffer.from(`${lines.map(([name, value]) => `${name}: ${value}\n`).join("")}\n`))
  }

  const port: HttpPort = {
    send: async (message) => {
      const isAnswer = message.method === undefined
      const text = JSON.stringify(message)
      if (isAnswer && !options.isStream && !response.headersSent && !(head.sse ?? options.sse)) {
        start("application/json")
        await write(Buffer.from(text))
      } else {
        await event({ event: "message", data: text })
      }
      if (isAnswer && !options.isStream) end()
    },
    act: async (step) => {
      switch (step.step) {
        case "head": {
          const { step: _, ...given } = step
          head = given
          if (given.sse === true) start("text/event-stream")
          return
        }
        case "event":
          return event({ event: step.event, id: step.id, retry: step.retry, data: step.data ?? "" })
        case "write":
          start(undefined)
          return write(repeated(Buffer.from(step.text, step.encoding), step.times))
        case "close":
          return end()
        case "reset":
          response.socket?.resetAndDestroy()
          return
        case "forget":
          return options.forget()
      }
    },
    setHeader: (name, value) => void response.setHeader(name, value),
    respond: (status, headers) => {
      head = { status, headers }
      end()
    }
  }
  return port
}

const repeated = (bytes: Buffer, times: number) => Buffer.alloc(bytes.length * times, bytes)
