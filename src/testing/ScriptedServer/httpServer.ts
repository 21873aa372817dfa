/**
 * Runs a scripted server over HTTP on loopback, in the process of the test.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type Engine, makeEngine, type ClientMessage, type Port } from "./engine.js"
import { type HttpPort, makePort } from "./httpPort.js"
import type { HttpScript, HttpStep, Rule } from "./model.js"

/**
 * A received HTTP request.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly method: string
  /** The path, including the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The parsed JSON, or the text if it is not JSON; absent without a body. */
  readonly body?: unknown
}

export interface RunningServer {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Callbacks that run after each request. */
  readonly onReceived: Set<() => void>
  /** Sends a message on all open streams. Returns the number of streams. */
  readonly push: (message: Readonly<Record<string, unknown>>) => Promise<number>
  readonly forget: () => void
  readonly reset: () => void
  readonly setRules: (rules: ReadonlyArray<Rule<HttpStep>>) => void
  readonly close: () => Promise<void>
}

export const startHttp = async (script: HttpScript): Promise<RunningServer> => {
  const received: Array<Received> = []
  const onReceived = new Set<() => void>()
  const sessions = new Set<string>()
  const streams = new Set<HttpPort>()
  const timers = new Set<NodeJS.Timeout>()

  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer)
        resolve()
      }, ms)
      timers.add(timer)
    })
  const engine = makeEngine<HttpStep>(script, sleep)
  const forget = () => sessions.clear()

  const handle = (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const port = makePort(response, {
      sse: script.sse === true,
      isStream: request.method === "GET",
      forget,
      opened: (port) => {
        if (request.method !== "GET") return
        streams.add(port)
        response.once("close", () => streams.delete(port))
      }
    })
    const plain = (status: number, headers: Readonly<Record<string, string>> = {}) => port.respond(status, headers)
    if (request.method === "POST") {
      if (script.transport === "sse") return postOld(request, plain, body)
      return post(request, port, plain, body)
    }
    const steps = engine.find(request.method ?? "")
    if (steps !== undefined) return void engine.run(steps, port)
    if (request.method === "GET" && script.transport === "sse") {
      return void engine.run(
        [
          { step: "head", sse: true },
          { step: "event", event: "endpoint", data: "/messages" }
        ],
        port
      )
    }
    if (request.method === "DELETE" && sessions.delete(sessionOf(request))) return plain(200)
    return plain(405, { allow: "POST" })
  }

  const post = (request: IncomingMessage, port: HttpPort, plain: (status: number) => void, body: unknown) => {
    if (typeof body !== "object" || body === null) return plain(400)
    const message = body as ClientMessage
    if (script.sessions === true) {
      if (message.method === "initialize") {
        const session = randomUUID()
        sessions.add(session)
        port.setHeader("mcp-session-id", session)
      } else if (!sessions.has(sessionOf(request))) {
        return plain(sessionOf(request) === "" ? 400 : 404)
      }
    }
    return dispatch(engine, message, port, () => plain(202))
  }

  /** Handles a message of the older transport: the response goes to the stream. */
  const postOld = (request: IncomingMessage, plain: (status: number) => void, body: unknown) => {
    const stream = [...streams].at(-1)
    if (!request.url?.startsWith("/messages") || stream === undefined) return plain(405)
    plain(202)
    return dispatch(engine, body as ClientMessage, stream, () => {})
  }

  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    // Tests disconnect clients on purpose.
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = parse(Buffer.concat(chunks).toString("utf8"))
      const { headers, method = "", url = "" } = request
      received.push({ method, path: url, headers, ...(body !== undefined && { body }) })
      handle(request, response, body)
      for (const callBack of onReceived) callBack()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  const { port } = server.address() as AddressInfo
  const sockets = new Set<import("node:net").Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    received,
    onReceived,
    push: async (message) => {
      await Promise.all([...streams].map((stream) => stream.send({ jsonrpc: "2.0", ...message })))
      return streams.size
    },
    forget,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    setRules: engine.setRules,
    close: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearTimeout(timer)
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

const dispatch = (engine: Engine<HttpStep>, message: ClientMessage, port: Port<HttpStep>, accept: () => void) => {
  const isAnswer = engine.note(message)
  const steps = engine.find(isAnswer ? "response" : (message.method ?? ""), message)
  if (steps !== undefined) return void engine.run(steps, port, message)
  if (isAnswer || message.id === undefined) return accept()
  return void engine.run([{ step: "answer" }], port, message)
}

const sessionOf = ({ headers }: IncomingMessage): string => {
  const session = headers["mcp-session-id"]
  return typeof session === "string" ? session : ""
}

const parse = (text: string): unknown => {
  if (text === "") return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
