/**
 * Serves an app on a Node server, and handles clients that disconnect, upgrade, or do not speak HTTP.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo, ListenOptions, Socket } from "node:net"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { withinBudget } from "../../system/budget.js"
import { codeOf } from "../../system/files/wholeFile.js"
import { SettlingResponse, isAnswering } from "./SettlingResponse.js"

export interface Listening {
  readonly address: AddressInfo | string | null
  /** Stops accepting connections, finishes the responses in progress, and closes all connections. */
  readonly drain: Effect.Effect<void>
}

/** Listens until the scope is closed. Fails with the system's error code. */
export const listen = (app: HttpApp.Default, where: ListenOptions): Effect.Effect<Listening, string, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* NodeHttpServer.makeHandler(app)
    // the app rejects requests without a host, like any other; without an upgrade listener, Node ignores upgrade headers
    const node = createServer({ ServerResponse: SettlingResponse, requireHostHeader: false }, handle)
    // Node would answer an `Expect` header itself; the app decides whether the client continues
    node.on("checkContinue", handle).on("checkExpectation", handle).on("clientError", rejectMalformed)
    yield* Effect.acquireRelease(open(node, where), () => drain(node))
    // later errors, such as too many open files, have no other listener and would end the process
    node.on("error", () => {})
    return { address: node.address(), drain: drain(node) }
  })

const open = (node: Server, where: ListenOptions): Effect.Effect<void, string> =>
  Effect.async((resume) => {
    const failed = (error: unknown) => resume(Effect.fail(codeOf(error)))
    node.once("error", failed)
    node.listen(where, () => {
      node.off("error", failed)
      resume(Effect.void)
    })
  })

/** How long responses in progress may take to finish when the server shuts down. */
const grace = "500 millis"

/** How often idle connections are closed. A connection is idle only when its response has been sent. */
const closeInterval = Schedule.spaced("10 millis")

const drain = (node: Server): Effect.Effect<void> =>
  Effect.async<void>((resume) => void node.close(() => resume(Effect.void))).pipe(
    Effect.raceFirst(
      Effect.repeat(
        Effect.sync(() => node.closeIdleConnections()),
        closeInterval
      )
    ),
    withinBudget(grace),
    Effect.zipRight(Effect.sync(() => node.closeAllConnections()))
  )

const faults: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the head of the request is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request took too long to arrive"]
}

/** How long the client has to read a raw error response before the socket is destroyed. */
const errorReadMs = 1000

/** Writes a raw error response to a client that sent invalid HTTP, unless it would become part of another response. */
const rejectMalformed = ({ code = "" }: NodeJS.ErrnoException, socket: Socket): void => {
  if (code === "ECONNRESET" || !socket.writable || isAnswering(socket)) return void socket.destroy()
  const [status, message] = faults[code] ?? ["400 Bad Request", "this is not an HTTP request"]
  const body = JSON.stringify({ error: { tag: "BadRequest", message, detail: "", issues: [] } })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  )
  const timer = setTimeout(() => socket.destroy(), errorReadMs)
  socket.once("close", () => clearTimeout(timer))
}
