/**
 * Reading a body that must not be large, without keeping what is too much of it.
 */
import type { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import { isDeeper } from "../../domain/internal/isDeeper.js"
import { BadRequest, PayloadTooLarge } from "../ControlError.js"

/** Whether there is one, as far as the head says. */
export const isAnnounced = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** The text, or why not. What comes after the limit is thrown away as it comes, so that the answer can be heard. */
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
    const onEnd = () => finish(decoded(Buffer.concat(parts)))
    const onGone = () => finish(Effect.fail(new BadRequest({ detail: "the body ended too early", issues: [] })))
    const stop = () => {
      source.off("data", onData).off("end", onEnd).off("close", onGone)
    }
    source.on("data", onData).on("end", onEnd).on("close", onGone)
    return Effect.sync(stop)
  })

/** How long somebody may go on to send what nobody reads. */
const patienceMs = 1000

/**
 * For a body that is not read to its end: whoever sends it may finish, so that he hears the answer, but not go on for ever.
 * Without an end he is hung up on.
 */
export const dismiss = (source: IncomingMessage): Effect.Effect<void> =>
  Effect.sync(() => {
    if (source.complete) return
    const timer = setTimeout(() => void source.destroy(), patienceMs)
    source.once("close", () => clearTimeout(timer))
  })

const decoded = (bytes: Buffer): Effect.Effect<string, BadRequest> =>
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

/** What is behind this goes into values step by step, and has only so many. */
const maxDepth = 256

/** Levels of the arguments of a call, which are one further down. */
export const maxArgumentsDepth = maxDepth - 1
