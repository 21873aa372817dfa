/**
 * Reads the body of a request up to a limit, without keeping the bytes beyond it.
 */
import type { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import { isDeeper } from "../../domain/internal/isDeeper.js"
import { BadRequest, PayloadTooLarge } from "../ControlError.js"

/** Whether the head of the request announces a body. */
export const isAnnounced = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** Reads the body as text. Bytes beyond the limit are discarded as they arrive, so that the client can read the response. */
export const read = (
  source: IncomingMessage,
  { limit, proceed }: { readonly limit: number /** Tells the client to send it. */; readonly proceed: () => void }
): Effect.Effect<string, PayloadTooLarge | BadRequest> =>
  Effect.async((resume) => {
    const tooLarge = Effect.fail(new PayloadTooLarge({ limit }))
    if (Number(source.headers["content-length"] ?? 0) > limit) return resume(tooLarge)
    if (/^100-continue$/i.test(source.headers.expect ?? "")) proceed()
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
      finish(tooLarge)
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
export const dismiss = (source: IncomingMessage): Effect.Effect<void> =>
  Effect.sync(() => {
    if (source.complete) return
    const timer = setTimeout(() => void source.destroy(), maxDiscardMs)
    source.once("close", () => clearTimeout(timer))
  })

const decodeText = (bytes: Buffer): Effect.Effect<string, BadRequest> =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new BadRequest({ detail: "the body is no UTF-8 text", issues: [] })
  })

export const parse = (text: string): Effect.Effect<unknown, BadRequest> =>
  text.trim() === ""
    ? Effect.succeed({})
    : Effect.filterOrFail(
        Effect.try({
          try: (): unknown => JSON.parse(text),
          catch: () => new BadRequest({ detail: "the body is no JSON", issues: [] })
        }),
        (body) => !isDeeper(body, maxDepth),
        () => new BadRequest({ detail: `the body is nested more than ${maxDepth} levels deep`, issues: [] })
      )

/** The code that handles a body is recursive, and the stack is limited. */
const maxDepth = 256

/** The largest depth of the arguments of a call. They are one level below the body. */
export const maxArgumentsDepth = maxDepth - 1
