/** HTTP servers on loopback whose every response a test decides. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The message, if it is one. */
  readonly message: {
    readonly id?: number | string
    readonly method?: string
    readonly params?: Record<string, unknown>
  }
}

export interface RawHttp {
  readonly url: string
  readonly received: Array<Received>
  /** The number of connections. */
  readonly connections: () => number
  /** The HTTP methods or message methods, in order. */
  readonly seen: () => ReadonlyArray<string>
}

export type Answer = (received: Received, response: ServerResponse, request: IncomingMessage) => void

export const serve = (answer: Answer): Effect.Effect<RawHttp, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<RawHttp & { readonly close: () => void }>((resume) => {
      const received: Array<Received> = []
      let connections = 0
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => void chunks.push(chunk))
        request.on("end", () => {
          const body = Buffer.concat(chunks).toString("utf8")
          const each: Received = {
            method: request.method!,
            url: request.url!,
            headers: request.headers,
            message: body === "" ? {} : JSON.parse(body)
          }
          received.push(each)
          answer(each, response, request)
        })
      })
      server.on("connection", () => {
        connections += 1
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}/mcp`,
            received,
            connections: () => connections,
            seen: () => received.map(({ message, method }) => message.method ?? method),
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  )

export const json = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

export const status = (response: ServerResponse, code: number, headers: Record<string, string> = {}, body = "") =>
  response.writeHead(code, headers).end(body)

export const stream = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" })

export const event = (message: unknown, id?: string) =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`

export const result = ({ message }: Received, value: unknown) => ({ jsonrpc: "2.0", id: message.id, result: value })

export const failure = ({ message }: Received, code: number, text: string) => ({
  jsonrpc: "2.0",
  id: message.id,
  error: { code, message: text }
})

export const text = (value: string) => ({ content: [{ type: "text", text: value }] })

/**
 * A correct legacy server with a session. A test can handle requests itself by returning true; all others get the default
 * response.
 */
export const legacy =
  (own: (received: Received, response: ServerResponse, request: IncomingMessage) => boolean = () => false): Answer =>
  (received, response, request) => {
    if (own(received, response, request)) return
    const { message, method } = received
    if (method === "GET") return void status(response, 405)
    if (method === "DELETE") return void status(response, 200)
    switch (message.method) {
      case "server/discover":
        return void json(response, failure(received, -32601, "unknown method"), 400)
      case "initialize":
        return void json(
          response,
          result(received, {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "raw", version: "1.0.0" }
          }),
          200,
          { "mcp-session-id": "session-1" }
        )
      case "tools/call":
        return void json(response, result(received, text("called")))
      case "ping":
        return void json(response, result(received, {}))
      default:
        return void status(response, 202)
    }
  }

export const isCall = ({ message }: Received) => message.method === "tools/call"
