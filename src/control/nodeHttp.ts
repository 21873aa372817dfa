/**
 * Sends HTTP requests to one address of this machine or one Unix socket. The module is small because commands that must start fast
 * load it.
 */
import { Agent, type IncomingMessage, request as send } from "node:http"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import type { HttpClientRequest } from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Creates a client whose connections are closed with the scope. */
export const make = (socket: string | undefined): Effect.Effect<HttpClient.HttpClient, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Agent({ keepAlive: true, ...(socket === undefined ? {} : { socketPath: socket }) })),
      (agent) => Effect.sync(() => agent.destroy())
    ),
    (agent) => HttpClient.make((request, url, signal) => exchange(agent, request, url, signal))
  )

const exchange = (
  agent: Agent,
  request: HttpClientRequest,
  url: URL,
  signal: AbortSignal
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.RequestError> =>
  Effect.async((resume) => {
    const { method, headers, body } = request
    const outgoing = send(url, { agent, method, headers: { ...headers }, signal })
    outgoing.on("error", (cause) =>
      resume(Effect.fail(new HttpClientError.RequestError({ request, reason: "Transport", cause })))
    )
    outgoing.on("response", (incoming) =>
      resume(Effect.succeed(HttpClientResponse.fromWeb(request, toWeb(incoming, method))))
    )
    outgoing.end(body._tag === "Uint8Array" ? body.body : body._tag === "Raw" ? String(body.body) : undefined)
  })

const toWeb = (incoming: IncomingMessage, method: string): Response => {
  const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value])
  )
  const status = incoming.statusCode ?? 500
  const isEmpty = status === 204 || status === 304 || method === "HEAD"
  if (isEmpty) incoming.resume()
  // Node and the DOM library declare `ReadableStream` differently
  const body = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream as never)
  return new Response(body, { status, headers })
}
