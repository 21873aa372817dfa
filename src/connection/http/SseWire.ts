/**
 * The wire for the older HTTP+SSE transport. The server sends everything on one stream, on which it names the URL for messages
 * to it. The connection ends with this stream.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { ConnectionClosed, type ConnectionError, IncompatibleServer } from "../../domain/Errors.js"
import { tracked } from "./HttpClient.js"
import { exchange, readingOf } from "./HttpExchange.js"
import { lowerCase } from "./httpHeaders.js"
import type { Options } from "./HttpWire.js"
import * as Intake from "../wire/Intake.js"
import { serialise, type Wire, WireFailure } from "../wire/Wire.js"

export const open = (options: Options): Effect.Effect<Wire, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { events, server, url } = options
    const client = tracked(options.client)
    const intake = Intake.open()
    const reading = readingOf(options, intake, (reason) => finish(reason))
    const endpoint = yield* Deferred.make<URL, ConnectionError>()
    const fixed = { "user-agent": options.userAgent, ...lowerCase(options.headers) }
    let endReason: ConnectionError | undefined
    let hasEndpoint = false
    let revision: string | undefined

    const finish = (reason: ConnectionError) => {
      if (endReason !== undefined) return
      endReason = reason
      intake.close()
      client.abortAll()
      Deferred.unsafeDone(endpoint, Effect.fail(reason))
      events.closed(reason)
    }

    yield* Effect.acquireRelease(
      Effect.sync(() =>
        exchange(
          reading,
          client,
          {
            method: "GET",
            url,
            inSession: false,
            expects: "stream",
            headers: { ...fixed, accept: "text/event-stream" }
          },
          {
            accepted: () => events.push("open"),
            message: events.message,
            event: (name, data) => {
              if (name !== "endpoint" || hasEndpoint) return false
              hasEndpoint = true
              Deferred.unsafeDone(endpoint, endpointOf(server, url, data))
              return true
            },
            end: () => finish(new ConnectionClosed({ server, detail: "the server ended its stream" })),
            refused: ({ failure }) => finish(failure.reason),
            broken: ({ reason }) => finish(reason)
          }
        )
      ),
      (abort) =>
        Effect.sync(() => {
          abort()
          finish(new ConnectionClosed({ server, detail: "it was closed by us" }))
        })
    )
    const address = yield* Deferred.await(endpoint)

    const send: Wire["send"] = (message, callbacks) => {
      if (endReason !== undefined) return callbacks.failed(new WireFailure(endReason, "unsent"))
      const body = serialise(server, message)
      if (typeof body !== "string") return callbacks.failed(body)
      const failed = (failure: WireFailure) => {
        callbacks.failed(failure)
        if (failure.ends) finish(failure.reason)
      }
      exchange(
        reading,
        client,
        {
          method: "POST",
          url: address,
          body,
          inSession: true,
          expects: "nothing",
          headers: {
            ...fixed,
            ...(revision === undefined ? {} : { "mcp-protocol-version": revision }),
            "content-type": "application/json"
          }
        },
        {
          started: callbacks.sent,
          message: events.message,
          end: () => callbacks.done?.(),
          refused: ({ failure }) => failed(failure),
          broken: failed
        }
      )
    }

    const wire: Wire = {
      transport: "sse",
      send,
      retract: () => {},
      agreed: (agreedRevision) => {
        revision = agreedRevision
      },
      pause: intake.pause,
      resume: intake.resume
    }
    return wire
  })

/** Parses the URL for messages. It must have the origin of the server, because the messages may hold credentials. */
const endpointOf = (server: string, url: URL, data: string): Effect.Effect<URL, IncompatibleServer> => {
  const target = URL.canParse(data, url.href) ? new URL(data, url) : undefined
  return target?.origin === url.origin
    ? Effect.succeed(target)
    : Effect.fail(new IncompatibleServer({ server, detail: "it names an address elsewhere for our messages" }))
}
