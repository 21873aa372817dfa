/**
 * Turns every failure of an app into a JSON response in the error format of the API.
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerError from "@effect/platform/HttpServerError"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ControlError from "../ControlError.js"
import * as Body from "./body.js"
import { logFault } from "./fault.js"
import { pathOf } from "./routes.js"

/**
 * Responds to each failure and defect of the app, and discards the rest of the request body. A failure that is not a rejection
 * is a fault: it is logged with the name of the route, and the response says nothing about it.
 */
export const handleErrors =
  (route: string) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
    Effect.catchAllCause(app, (cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.zipLeft(responseOf(cause, route), Effect.flatMap(HttpServerRequest, Body.discard))
    )

const Rejection = Schema.Union(...ControlError.rejections)
const isRejection = Schema.is(Schema.typeSchema(Rejection))
const encode = Schema.encodeSync(Rejection)

const responseOf = (
  cause: Cause.Cause<unknown>,
  route: string
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = Cause.squash(cause)
  if (isRejection(error)) return Effect.succeed(rejected(error))
  if (error instanceof HttpServerError.RouteNotFound) {
    return Effect.succeed(rejected(new ControlError.RouteNotFound({ path: pathOf(error.request.url) })))
  }
  // a mounted app cannot parse the body
  if (error instanceof HttpServerError.RequestError) {
    return Effect.succeed(
      rejected(new ControlError.BadRequest({ detail: "the body is invalid for this route", issues: [] }))
    )
  }
  return Effect.as(logFault(route, error), rejected(new ControlError.InternalError()))
}

const rejected = (rejection: ControlError.Rejection): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(encode(rejection), {
    status: ControlError.statuses[rejection._tag],
    headers: headersOf(rejection)
  })

const headersOf = (rejection: ControlError.Rejection): Readonly<Record<string, string>> => {
  if (rejection._tag === "Unauthorized") return { "www-authenticate": "Bearer" }
  return rejection._tag === "MethodNotAllowed" ? { allow: rejection.allow.join(", ") } : {}
}
