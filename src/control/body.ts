/**
 * Reading a body that must not be large, without keeping what is too much of it.
 */
import type { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import { BadRequest, PayloadTooLarge } from "./ControlError.js"

/** Whether there is one, as far as the head says. */
export const isAnnounced = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** The text, or why not. What comes after the limit is thrown away as it comes, so that the answer can be heard. */
export const read = (source: IncomingMessage, limit: number): Effect.Effect<string, PayloadTooLarge | BadRequest> =>
  Effect.async((resume) => {
    const tooLarge = Effect.fail(new PayloadTooLarge({ limit }))
    if (Number(source.headers["content-length"] ?? 0) > limit) return resume(tooLarge)
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
        (body) => !isDeep(body),
        () => new BadRequest({ detail: `the body is nested more than ${maxDepth} levels deep`, issues: [] })
      )

const maxDepth = 256

/** Looked at level by level: what is behind this goes into values step by step, and has only so many. */
const isDeep = (body: unknown): boolean => {
  let level: ReadonlyArray<unknown> = [body]
  for (let depth = 0; depth <= maxDepth; depth++) {
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []))
    if (level.length === 0) return false
  }
  return true
}
