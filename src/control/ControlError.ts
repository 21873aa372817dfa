/**
 * Defines the errors of the control API, and the one JSON shape in which all errors are sent.
 *
 * @since 0.1.0
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as Errors from "../domain/Errors.js"
import { Issue, renderAll } from "../domain/Issue.js"

/**
 * The request does not match the route's schema. The issues name paths, never values.
 *
 * @since 0.1.0
 * @category errors
 */
export class BadRequest extends Schema.TaggedError<BadRequest>("mcp-supervisor/BadRequest")("BadRequest", {
  detail: Schema.String,
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    return this.issues.length === 0 ? this.detail : `${this.detail}: ${renderAll(this.issues)}`
  }
}

/**
 * The token is missing or wrong.
 *
 * @since 0.1.0
 * @category errors
 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>("mcp-supervisor/Unauthorized")("Unauthorized", {}) {
  override get message(): string {
    return 'send the header "Authorization: Bearer <token>"; the token is in the file "control-token" of the state directory'
  }
}

/**
 * The request has an origin or a host name that is not allowed.
 *
 * @since 0.1.0
 * @category errors
 */
export class Forbidden extends Schema.TaggedError<Forbidden>("mcp-supervisor/Forbidden")("Forbidden", {
  /** The header that was rejected. */
  header: Schema.Literal("host", "origin")
}) {
  override get message(): string {
    return this.header === "host"
      ? 'the "Host" header does not name this machine; use the address that the supervisor prints'
      : 'the "Origin" header names an origin that is not allowed; only pages of this address and of allowed origins can send requests'
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class RouteNotFound extends Schema.TaggedError<RouteNotFound>("mcp-supervisor/RouteNotFound")("RouteNotFound", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path} is not a route of this API; /openapi.json lists all routes`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>("mcp-supervisor/MethodNotAllowed")(
  "MethodNotAllowed",
  { method: Schema.String, allow: Schema.Array(Schema.String) }
) {
  override get message(): string {
    return `this path does not support ${this.method}; it supports ${this.allow.join(", ")}`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>("mcp-supervisor/PayloadTooLarge")(
  "PayloadTooLarge",
  {
    /** Bytes. */
    limit: Schema.Finite
  }
) {
  override get message(): string {
    return `the body is larger than ${this.limit} bytes`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>(
  "mcp-supervisor/UnsupportedMediaType"
)("UnsupportedMediaType", {}) {
  override get message(): string {
    return 'the body must be JSON: send "Content-Type: application/json"'
  }
}

/**
 * A fault of the supervisor. Its log has the details.
 *
 * @since 0.1.0
 * @category errors
 */
export class InternalError extends Schema.TaggedError<InternalError>("mcp-supervisor/InternalError")(
  "InternalError",
  {}
) {
  override get message(): string {
    return "unexpected failure; see the supervisor's log, and please report it"
  }
}

/**
 * This supervisor was started without config files.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoConfigFiles extends Schema.TaggedError<NoConfigFiles>("mcp-supervisor/NoConfigFiles")(
  "NoConfigFiles",
  {}
) {
  override get message(): string {
    return "this supervisor has no config files"
  }
}

/**
 * The schema of an error as `{ error: { tag, message, … } }`, with its HTTP status.
 *
 * @since 0.1.0
 * @category schemas
 */
export const envelope = <
  Self extends { readonly message: string },
  Tag extends string,
  Fields extends Schema.Struct.Fields
>(
  error: Schema.TaggedErrorClass<Self, Tag, Fields>,
  status: number
): Schema.Schema<Self, Envelope> => {
  const { _tag, ...details } = error.fields as Schema.Struct.Fields
  const Body = Schema.Struct({
    error: Schema.Struct({ tag: Schema.Literal(error._tag), message: Schema.String, ...details })
  })
  const Wire = Body as unknown as Schema.Schema<{ readonly error: Readonly<Record<string, unknown>> }, Envelope>
  return Schema.transform(Wire, Schema.typeSchema(error), {
    strict: true,
    // the constructor returns `Self`, which the type `TaggedErrorClass` does not express
    decode: ({ error: fields }) => new error(fields as never) as unknown as Self,
    encode: (failure) => ({
      error: { ...pick(failure, Object.keys(details)), tag: error._tag, message: failure.message }
    })
  }).annotations({ ...HttpApiSchema.annotations({ status }), identifier: `${error._tag}Response` })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Envelope {
  readonly error: { readonly tag: string; readonly message: string }
}

const pick = (from: object, keys: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value: unknown = Reflect.get(from, key)
      return value === undefined ? [] : [[key, value]]
    })
  )

/**
 * The HTTP status of each rejection.
 *
 * @since 0.1.0
 * @category schemas
 */
export const statuses: Readonly<Record<Rejection["_tag"], number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  RouteNotFound: 404,
  MethodNotAllowed: 405,
  PayloadTooLarge: 413,
  UnsupportedMediaType: 415,
  InternalError: 500
}

/**
 * Every error with which a request is rejected before it reaches its route, or because of a fault in it.
 *
 * @since 0.1.0
 * @category errors
 */
export type Rejection =
  | BadRequest
  | Unauthorized
  | Forbidden
  | RouteNotFound
  | MethodNotAllowed
  | PayloadTooLarge
  | UnsupportedMediaType
  | InternalError

/**
 * @since 0.1.0
 * @category schemas
 */
export const rejections = [
  envelope(BadRequest, statuses.BadRequest),
  envelope(Unauthorized, statuses.Unauthorized),
  envelope(Forbidden, statuses.Forbidden),
  envelope(RouteNotFound, statuses.RouteNotFound),
  envelope(MethodNotAllowed, statuses.MethodNotAllowed),
  envelope(PayloadTooLarge, statuses.PayloadTooLarge),
  envelope(UnsupportedMediaType, statuses.UnsupportedMediaType),
  envelope(InternalError, statuses.InternalError)
] as const

/**
 * The schemas in which the errors of the library are sent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ServerNotFound = envelope(Errors.ServerNotFound, 404)
/** @since 0.1.0 */
export const ServerExists = envelope(Errors.ServerExists, 409)
/** @since 0.1.0 */
export const InvalidConfig = envelope(Errors.InvalidConfig, 400)
/** @since 0.1.0 */
export const EditRefused = envelope(Errors.EditRefused, 409)
/** @since 0.1.0 */
export const Unconfigured = envelope(NoConfigFiles, 409)
/** @since 0.1.0 */
export const AuthError = envelope(Errors.AuthError, 409)

/**
 * The schemas of errors of a call or a read. `409` requires an action first; with `502` and `504`, the call may have been
 * executed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const readErrors = [
  ServerNotFound,
  envelope(Errors.ServerUnavailable, 503),
  envelope(Errors.InvalidArguments, 400),
  envelope(Errors.NotSent, 503),
  envelope(Errors.OutcomeUnknown, 502),
  envelope(Errors.CallTimeout, 504),
  envelope(Errors.AuthRequired, 409),
  envelope(Errors.RateLimited, 429),
  envelope(Errors.Overloaded, 503),
  envelope(Errors.InvalidResult, 502),
  envelope(Errors.ProtocolError, 502),
  envelope(Errors.SupervisorClosed, 503)
] as const

/** @since 0.1.0 */
export const callErrors = [envelope(Errors.ToolNotFound, 404), ...readErrors] as const
