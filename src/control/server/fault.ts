/**
 * Faults of our own behind the control API: what could not be done or encoded although the request was right.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as ControlError from "../ControlError.js"

/** An answer of ours does not fit its schema or cannot be written as JSON. */
class Unencodable extends Error {
  override readonly name = "Unencodable"
}

/** Encodes a part of an answer. What cannot be encoded is a fault of ours. */
export const encoding = <A>(encode: () => A): Effect.Effect<A> =>
  Effect.orDie(Effect.try({ try: encode, catch: () => new Unencodable() }))

/**
 * Requests are checked before they reach a route: what does not fit a schema behind it is an answer of ours. The framework
 * would call that a bad request.
 */
export const layerUnencodable: Layer.Layer<never> = HttpApiBuilder.middleware((app) =>
  Effect.catchAllCause(app, (cause) =>
    Cause.squash(cause) instanceof HttpApiDecodeError ? Effect.die(new Unencodable()) : Effect.failCause(cause)
  )
)

/** Logs a fault. Its text may hold anything, so only its kind and place are logged. */
export const logFault = (route: string, fault: unknown): Effect.Effect<void> => {
  const where = fault instanceof Error ? placesOf(fault) : typeof fault
  return Effect.annotateLogs(Effect.logError("mcp.control.fault"), { route, where })
}

const placesOf = (fault: Error): string => {
  if (fault instanceof Unencodable || ParseResult.isParseError(fault)) return "encoding the answer"
  return (fault.stack ?? "").split("\n").slice(1, 4).join("\n")
}

/** Encodes a part of a stream as text. What cannot be encoded is undefined, and logged. */
export const encoderOf = <A, I>(route: string, schema: Schema.Schema<A, I>) => {
  const encode = Schema.encode(Schema.parseJson(schema))
  return (value: A): Effect.Effect<string | undefined> =>
    Effect.catchAllCause(encode(value), () => Effect.as(logFault(route, new Unencodable()), undefined))
}

/** What a stream says in place of something that cannot be encoded. */
export const internalError: string = JSON.stringify(
  Schema.encodeSync(ControlError.envelope(ControlError.InternalError, ControlError.statuses.InternalError))(
    new ControlError.InternalError()
  )
)
