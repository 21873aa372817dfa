/**
 * Receives the callbacks of logins. One listener serves all pending logins at an address and matches them by state. It
 * closes when no login is pending there.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { callbackPage } from "./callbackPage.js"

/** The port cannot be listened on. */
export class PortBusy extends Data.TaggedError("PortBusy")<{ readonly port: number; readonly code: string }> {}

export interface ResultPage {
  readonly title: string
  readonly text: string
  readonly isSuccess: boolean
}

/** Handles the parameters of a callback and returns the page for the browser. */
export type CallbackHandler = (params: URLSearchParams) => Promise<ResultPage>

export interface CallbackAddress {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly path: string
}

export interface Listener {
  readonly port: number
  /** Passes callbacks with this state to the handler while the scope is open. */
  readonly expect: (state: string, handler: CallbackHandler) => Effect.Effect<void, never, Scope.Scope>
}

export interface CallbackServer {
  /** Listens while the scope is open, or longer if other logins use the same address. */
  readonly listen: (address: CallbackAddress) => Effect.Effect<Listener, PortBusy, Scope.Scope>
}

interface OpenServer {
  readonly server: Server
  readonly port: number
  /** The handlers of pending logins, by path and state. */
  readonly handlers: Map<string, CallbackHandler>
  users: number
}

export const make: Effect.Effect<CallbackServer> = Effect.map(Effect.makeSemaphore(1), (mutex) => {
  const servers = new Map<string, OpenServer>()

  const join = ({ host, port }: CallbackAddress): Effect.Effect<OpenServer, PortBusy> =>
    Effect.suspend(() => {
      const current = port === 0 ? undefined : servers.get(`${host} ${port}`)
      if (current !== undefined) {
        current.users += 1
        return Effect.succeed(current)
      }
      return Effect.map(start(host, port), (started) => {
        servers.set(`${host} ${started.port}`, started)
        return started
      })
    }).pipe(mutex.withPermits(1))

  const leave = (host: string, open: OpenServer): Effect.Effect<void> =>
    Effect.suspend(() => {
      open.users -= 1
      if (open.users > 0) return Effect.void
      servers.delete(`${host} ${open.port}`)
      return stop(open.server)
    }).pipe(mutex.withPermits(1))

  return {
    listen: (address) =>
      Effect.map(
        Effect.acquireRelease(join(address), (open) => leave(address.host, open)),
        ({ handlers, port }) => ({
          port,
          expect: (state, handler) => {
            const key = `${address.path} ${state}`
            return Effect.acquireRelease(
              Effect.sync(() => void handlers.set(key, handler)),
              () => Effect.sync(() => void handlers.delete(key))
            )
          }
        })
      )
  }
})

const start = (host: string, port: number): Effect.Effect<OpenServer, PortBusy> =>
  Effect.async((resume) => {
    const handlers = new Map<string, CallbackHandler>()
    const server = createServer((request, response) => {
      // Any program on this machine can send requests: a fault must not end the process.
      handle(handlers, request, response).catch(() => response.destroy())
    })
    server.on("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new PortBusy({ port, code: error.code ?? "unknown" })))
    )
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      const actual = typeof address === "object" && address !== null ? address.port : port
      resume(Effect.succeed({ server, port: actual, handlers, users: 1 }))
    })
  })

/** Finishes the responses in progress for up to a second, and closes the connections that a browser keeps open. */
const stop = (server: Server): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), 1000).unref()
  })

const handle = async (
  handlers: ReadonlyMap<string, CallbackHandler>,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> => {
  // Not resolved against a base URL: `//` would be a host without a name.
  const target = `http://localhost${request.url ?? "/"}`
  if (!URL.canParse(target)) return respond(response, 400, notFound)
  const url = new URL(target)
  const paths = new Set(Array.from(handlers.keys(), (key) => key.slice(0, key.indexOf(" "))))
  if (request.method !== "GET") return respond(response, 405, notFound)
  if (!paths.has(url.pathname)) return respond(response, 404, notFound)
  const handler = handlers.get(`${url.pathname} ${url.searchParams.get("state") ?? ""}`)
  if (handler === undefined) return respond(response, 400, unknownState)
  const page = await handler(url.searchParams)
  respond(response, page.isSuccess ? 200 : 400, page)
}

const notFound: ResultPage = {
  title: "Not found",
  text: "This address receives the callbacks of logins. This request is not one.",
  isSuccess: false
}

const unknownState: ResultPage = {
  title: "No such login is pending",
  text:
    "The login is complete already, has been replaced by another one, or was not started by this program. Nothing was " +
    "changed. Continue on the login page that was opened last, or start the login again.",
  isSuccess: false
}

const respond = (response: ServerResponse, status: number, { text, title }: ResultPage): void => {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close"
  })
  response.end(callbackPage(title, text))
}
