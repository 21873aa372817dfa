/**
 * Reads and decodes the body of a request, once, up to a limit. Bytes beyond the limit are not kept.
 */
import type { IncomingMessage } from "node:http"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { isDeeper } from "../../domain/internal/isDeeper.js"
import { BadRequest, PayloadTooLarge, UnsupportedMediaType } from "../ControlError.js"
import { strictDecode } from "./strictDecode.js"

type BodyError = BadRequest | PayloadTooLarge | UnsupportedMediaType

/**
 * Decodes the JSON body before a handler runs. `HttpApi` would decode it without rejecting unknown keys, and would describe the
 * problem with the values of the body; `handleRaw` leaves the body to the handler.
 */
export const withBody = <A, I, Input extends { readonly request: HttpServerRequest }, B, E, R>(
  schema: Schema.Schema<A, I>,
  handle: (input: Input & { readonly payload: A }) => Effect.Effect<B, E, R>
): ((input: Input) => Effect.Effect<B, E | BodyError, R>) => {
  const decode = decoderOf(schema)
  return (input) => Effect.flatMap(decode(input.request), (payload) => handle({ ...input, payload }))
}

const decoderOf = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = strictDecode(schema)
  return (request: HttpServerRequest): Effect.Effect<A, BodyError> =>
    Effect.gen(function* () {
      const body = yield* readJson(request)
      return yield* Either.mapLeft(decode(body), (issues) =>
        isJsonRpc(body)
          ? new BadRequest({ detail: "the MCP endpoint is /gateway", issues: [] })
          : new BadRequest({ detail: "the body is invalid for this route", issues })
      )
    }).pipe(Effect.tapError(() => discard(request)))
}

/** Returns `{}` for a request without a body. */
const readJson = Effect.fnUntraced(function* (request: HttpServerRequest): Effect.fn.Return<unknown, BodyError> {
  if (!isAnnounced(request.headers)) return {}
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
    return yield* new UnsupportedMediaType()
  }
  const limit = yield* accept(request)
  return yield* parse(yield* readText(NodeHttpServerRequest.toIncomingMessage(request), limit))
})

/**
 * Returns the largest size of the body. Rejects a body that is announced as larger, and tells a client that waits with its body
 * to send it.
 */
export const accept = Effect.fnUntraced(function* (
  request: HttpServerRequest
): Effect.fn.Return<number, PayloadTooLarge> {
  const limit = Number(Option.getOrElse(yield* HttpIncomingMessage.MaxBodySize, () => Number.POSITIVE_INFINITY))
  const { "content-length": length = 0, expect = "" } = request.headers
  if (Number(length) > limit) return yield* new PayloadTooLarge({ limit })
  if (/^100-continue$/i.test(expect)) NodeHttpServerRequest.toServerResponse(request).writeContinue()
  return limit
})

/** Whether the body is a JSON-RPC message or a batch that contains one. */
const isJsonRpc = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some((message) => Predicate.hasProperty(message, "jsonrpc"))

/** Whether the head of the request announces a body. */
const isAnnounced = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** Reads the body as text. Bytes beyond the limit are discarded as they arrive, so that the client can read the response. */
const readText = (source: IncomingMessage, limit: number): Effect.Effect<string, PayloadTooLarge | BadRequest> =>
  Effect.async((resume) => {
    const parts: Array<Buffer> = []
    let size = 0
    const finish = (outcome: Effect.Effect<string, PayloadTooLarge | BadRequest>) => {
      stop()
      resume(outcome)
    }
    const onData = (part: Buffer) => {
      size += part.length
      if (size <= limit) return void parts.push(part)
      parts.length = 0
      finish(Effect.fail(new PayloadTooLarge({ limit })))
      source.resume()
    }
    const onEnd = () => finish(decodeText(Buffer.concat(parts)))
    const onClose = () => finish(Effect.fail(new BadRequest({ detail: "the body ended too early", issues: [] })))
    const stop = () => {
      source.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    source.on("data", onData).on("end", onEnd).on("close", onClose)
    return Effect.sync(stop)
  })

/** How long a client may continue to send a body that is discarded. */
const maxDiscardMs = 1000

/**
 * Discards the rest of a body. The client may finish sending, so that it reads the response; after `maxDiscardMs` the
 * connection is destroyed.
 */
export const discard = (request: HttpServerRequest): Effect.Effect<void> =>
  Effect.sync(() => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    if (source.complete) return
    const timer = setTimeout(() => void source.destroy(), maxDiscardMs)
    source.once("close", () => clearTimeout(timer))
  })

const decodeText = (bytes: Buffer): Effect.Effect<string, BadRequest> =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new BadRequest({ detail: "the body is not UTF-8 text", issues: [] })
  })

const parse = (text: string): Effect.Effect<unknown, BadRequest> =>
  text.trim() === ""
    ? Effect.succeed({})
    : Effect.filterOrFail(
        Effect.try({
          try: (): unknown => JSON.parse(text),
          catch: () => new BadRequest({ detail: "the body is not JSON", issues: [] })
        }),
        (body) => !isDeeper(body, maxDepth),
        () => new BadRequest({ detail: `the body is nested more than ${maxDepth} levels deep`, issues: [] })
      )

/** The code that handles a body is recursive, and the stack is limited. */
const maxDepth = 256

/** The largest depth of the arguments of a call. They are one level below the body. */
export const maxArgumentsDepth = maxDepth - 1
