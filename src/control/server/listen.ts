/**
 * An app on a Node server, for clients of every kind: those that hang up, ask for another protocol, or send what is no HTTP.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo, ListenOptions, Socket } from "node:net"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { codeOf } from "../../system/wholeFile.js"
import { SettlingResponse, isAnswering } from "./SettlingResponse.js"

export interface Listening {
  readonly address: AddressInfo | string | null
  /** Takes nobody in any more, lets those who are being answered hear the answer, and then hangs up. */
  readonly drain: Effect.Effect<void>
}

/** Listens until the scope closes. Fails with what the system calls the error. */
export const listen = (app: HttpApp.Default, where: ListenOptions): Effect.Effect<Listening, string, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* NodeHttpServer.makeHandler(app)
    // who gives no host is refused by the app, as everybody else is. Without a listener for upgrades, they are none
    const node = createServer({ ServerResponse: SettlingResponse, requireHostHeader: false }, handle)
    // what a client expects is no reason to hear another voice; that it may go on is for the app to say
    node.on("checkContinue", handle).on("checkExpectation", handle).on("clientError", malformed)
    yield* Effect.acquireRelease(open(node, where), () => drain(node))
    // nobody else listens to what goes wrong later, such as too many open files
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

/** What is being answered when it ends has this long to come to its end. */
const grace = "500 millis"

/** A connection is idle only once its answer has been heard. */
const lookEvery = Schedule.spaced("10 millis")

const drain = (node: Server): Effect.Effect<void> =>
  Effect.async<void>((resume) => void node.close(() => resume(Effect.void))).pipe(
    Effect.raceFirst(
      Effect.repeat(
        Effect.sync(() => node.closeIdleConnections()),
        lookEvery
      )
    ),
    Effect.disconnect,
    Effect.interruptible,
    Effect.timeout(grace),
    Effect.ignore,
    Effect.zipRight(Effect.sync(() => node.closeAllConnections()))
  )

const faults: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the head of the request is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request took too long to arrive"]
}

/** How long whoever was answered by hand has to hear it: who does not hang up himself is hung up on. */
const farewellMs = 1000

/** What is no HTTP at all is answered by hand, unless that would be heard as part of another answer. */
const malformed = ({ code = "" }: NodeJS.ErrnoException, socket: Socket): void => {
  if (code === "ECONNRESET" || !socket.writable || isAnswering(socket)) return void socket.destroy()
  const [status, message] = faults[code] ?? ["400 Bad Request", "this is no HTTP request"]
  const body = JSON.stringify({ error: { tag: "BadRequest", message, detail: "", issues: [] } })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  )
  const timer = setTimeout(() => socket.destroy(), farewellMs)
  socket.once("close", () => clearTimeout(timer))
}
