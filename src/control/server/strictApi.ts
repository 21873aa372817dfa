/**
 * Rejects requests that the control API does not define: unknown paths, wrong methods and invalid query parameters.
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import type { Rejection } from "../ControlError.js"
import { handleErrors } from "./errorResponse.js"
import { match } from "./routes.js"

/** Passes requests that the API defines to the app. Bodies are checked where they are decoded, in `body.ts`. */
export const enforce = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<Rejection, R> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest
    const { method, path } = yield* match(request.method, request.url)
    // the router would end the path at a semicolon
    const escaped = request.modify({ url: request.url.replaceAll(";", "%3B") })
    return yield* Effect.provideService(app, HttpServerRequest, escaped).pipe(handleErrors(`${method} ${path}`))
  })
