/**
 * Where the browser brings people back to. One listener serves all logins that wait at the same address, and tells them apart
 * by their state; it is closed when nobody waits any more.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { callbackPage } from "./callbackPage.js"

/** Somebody else listens there. */
export class PortBusy extends Data.TaggedError("PortBusy")<{ readonly port: number; readonly code: string }> {}

/** What is shown to the person. */
export interface Shown {
  readonly title: string
  readonly text: string
  readonly isGood: boolean
}

/** Gets what the browser brought, and says what the person is to see. */
export type Visit = (params: URLSearchParams) => Promise<Shown>

export interface Place {
  readonly host: string
  /** 0 is any that is free. */
  readonly port: number
  readonly path: string
}

export interface Listener {
  readonly port: number
  /** From now on, whoever comes with this state is expected. */
  readonly expect: (state: string, visit: Visit) => Effect.Effect<void, never, Scope.Scope>
}

export interface CallbackServer {
  /** Listens as long as the scope is open, or longer if others wait at the same place. */
  readonly listen: (place: Place) => Effect.Effect<Listener, PortBusy, Scope.Scope>
}

interface Open {
  readonly server: Server
  readonly port: number
  /** Those who wait, by path and state. */
  readonly expected: Map<string, Visit>
  users: number
}

export const make: Effect.Effect<CallbackServer> = Effect.map(Effect.makeSemaphore(1), (turn) => {
  const open = new Map<string, Open>()

  const join = ({ host, port }: Place): Effect.Effect<Open, PortBusy> =>
    Effect.suspend(() => {
      const there = port === 0 ? undefined : open.get(`${host} ${port}`)
      if (there !== undefined) {
        there.users += 1
        return Effect.succeed(there)
      }
      return Effect.map(start(host, port), (started) => {
        open.set(`${host} ${started.port}`, started)
        return started
      })
    }).pipe(turn.withPermits(1))

  const leave = (host: string, entry: Open): Effect.Effect<void> =>
    Effect.suspend(() => {
      entry.users -= 1
      if (entry.users > 0) return Effect.void
      open.delete(`${host} ${entry.port}`)
      return stop(entry.server)
    }).pipe(turn.withPermits(1))

  return {
    listen: (place) =>
      Effect.map(
        Effect.acquireRelease(join(place), (entry) => leave(place.host, entry)),
        (entry) => ({
          port: entry.port,
          expect: (state, visit) => {
            const key = `${place.path} ${state}`
            return Effect.acquireRelease(
              Effect.sync(() => void entry.expected.set(key, visit)),
              () => Effect.sync(() => void entry.expected.delete(key))
            )
          }
        })
      )
  }
})

const start = (host: string, port: number): Effect.Effect<Open, PortBusy> =>
  Effect.async((resume) => {
    const expected = new Map<string, Visit>()
    const server = createServer((request, response) => {
      // whoever is out there must not end us, whatever he sends
      answer(expected, request, response).catch(() => response.destroy())
    })
    server.on("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new PortBusy({ port, code: error.code ?? "unknown" })))
    )
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      const actual = typeof address === "object" && address !== null ? address.port : port
      resume(Effect.succeed({ server, port: actual, expected, users: 1 }))
    })
  })

/** The last answer goes out; what a browser keeps open beyond it is cut. */
const stop = (server: Server): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), 1000).unref()
  })

const answer = async (
  expected: ReadonlyMap<string, Visit>,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> => {
  // not resolved against a base: `//` would be a host without a name
  const target = `http://localhost${request.url ?? "/"}`
  if (!URL.canParse(target)) return show(response, 400, { title: "Not here", text: notHere, isGood: false })
  const url = new URL(target)
  const paths = new Set(Array.from(expected.keys(), (key) => key.slice(0, key.indexOf(" "))))
  if (request.method !== "GET") return show(response, 405, { title: "Not here", text: notHere, isGood: false })
  if (!paths.has(url.pathname)) return show(response, 404, { title: "Not here", text: notHere, isGood: false })
  const visit = expected.get(`${url.pathname} ${url.searchParams.get("state") ?? ""}`)
  if (visit === undefined) {
    const title = "This is not the login that is waited for"
    return show(response, 400, { title, text: stranger, isGood: false })
  }
  const shown = await visit(url.searchParams)
  show(response, shown.isGood ? 200 : 400, shown)
}

const notHere = "Logins come back to this address, and this is none."

const stranger =
  "It is an older one, it was finished already, or somebody else has sent you here. Nothing was done. Go on with the page " +
  "that was opened last, or begin the login again."

const show = (response: ServerResponse, status: number, { text, title }: Shown): void => {
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
