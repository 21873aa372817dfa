/**
 * Encodes parts of responses, and logs internal faults: the request was valid, but its result cannot be encoded or sent.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as ControlError from "../ControlError.js"

/** A response does not match its schema or cannot be written as JSON. */
class Unencodable extends Error {
  override readonly name = "Unencodable"
}

/** Encodes a part of a response. A value that cannot be encoded is a defect. */
export const encoding = <A>(encode: () => A): Effect.Effect<A> =>
  Effect.orDie(Effect.try({ try: encode, catch: () => new Unencodable() }))

/**
 * Makes a schema mismatch behind a route a defect. Requests are validated before they reach a route, so the mismatch is in
 * the response; the framework would report it as a bad request.
 */
export const layerUnencodable: Layer.Layer<never> = HttpApiBuilder.middleware((app) =>
  Effect.catchAllCause(app, (cause) =>
    Cause.squash(cause) instanceof HttpApiDecodeError ? Effect.die(new Unencodable()) : Effect.failCause(cause)
  )
)

/** Logs an internal fault. Its message may hold a secret, so only its kind and stack are logged. */
export const logFault = (route: string, fault: unknown): Effect.Effect<void> => {
  const where = fault instanceof Error ? placesOf(fault) : typeof fault
  return Effect.annotateLogs(Effect.logError("mcp.control.fault"), { route, where })
}

const placesOf = (fault: Error): string => {
  if (fault instanceof Unencodable || ParseResult.isParseError(fault)) return "encoding the response"
  return (fault.stack ?? "").split("\n").slice(1, 4).join("\n")
}

/** Returns an encoder for parts of a stream. A value that cannot be encoded is logged and becomes `undefined`. */
export const encoderOf = <A, I>(route: string, schema: Schema.Schema<A, I>) => {
  const encode = Schema.encode(Schema.parseJson(schema))
  return (value: A): Effect.Effect<string | undefined> =>
    Effect.catchAllCause(encode(value), () => Effect.as(logFault(route, new Unencodable()), undefined))
}

/** The error that a stream sends in place of a result that cannot be encoded. */
export const internalError: string = JSON.stringify(
  Schema.encodeSync(ControlError.envelope(ControlError.InternalError, ControlError.statuses.InternalError))(
    new ControlError.InternalError()
  )
)
