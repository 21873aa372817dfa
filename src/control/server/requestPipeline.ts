/**
 * Wraps the whole API: admits requests, reads and validates bodies, and renders all errors in one format.
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Body from "./body.js"
import * as ControlError from "../ControlError.js"
import { logFault } from "./fault.js"
import * as Admission from "./admission.js"
import { match, type Route } from "./routes.js"

export interface Options {
  readonly policy: Admission.Policy
  /** The largest body in bytes. */
  readonly maxBody: number
}

export const requestPipeline =
  ({ maxBody, policy }: Options) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
    Effect.suspend(() => {
      const context: RequestContext = { route: undefined }
      return Effect.catchAllCause(handleAdmitted(app, { maxBody, policy }, context), (cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.failCause(cause as Cause.Cause<never>)
          : Effect.zipLeft(respondToCause(cause, context), discardBody)
      )
    }).pipe(
      Effect.zipWith(HttpServerRequest, (response, { headers }) =>
        HttpServerResponse.setHeaders(response, { ...commonHeaders, ...Admission.sharing(policy, headers) })
      )
    )

/** What is logged about a request that fails. */
interface RequestContext {
  route: Route | undefined
}

const handleAdmitted = <E, R>(app: HttpApp.Default<E, R>, { maxBody, policy }: Options, context: RequestContext) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest
    if (Admission.isPreflight(policy, request.method, request.headers)) {
      return HttpServerResponse.empty({ headers: Admission.allowances })
    }
    const refusal = Admission.refuse(policy, request.headers) ?? checkSingleHost(request)
    if (refusal !== undefined) return yield* refusal
    const route = yield* match(request.method, request.url)
    context.route = route
    const body = yield* bodyOf(request, route, maxBody)
    return yield* Effect.provideService(app, HttpServerRequest, withParsedBody(request, body))
  })

/** Node exposes only the first of several `Host` headers, and a proxy may have checked a different one. */
const checkSingleHost = (request: HttpServerRequest): ControlError.Forbidden | undefined => {
  const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host")
  return hosts.length > 1 ? new ControlError.Forbidden({ header: "host" }) : undefined
}

/** A rejected client may finish sending its body, for a limited time. */
const discardBody = Effect.flatMap(HttpServerRequest, (request) =>
  Body.dismiss(NodeHttpServerRequest.toIncomingMessage(request))
)

/** Responses describe the current state for one caller, so they are not cached, and browsers must not guess their type. */
const commonHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

const bodyOf = (
  request: HttpServerRequest,
  { check, method, path }: Route,
  limit: number
): Effect.Effect<unknown, ControlError.Refusal> =>
  Effect.gen(function* () {
    if (check === undefined) return {}
    if (!Body.isAnnounced(request.headers)) return yield* validateBody({}, check)
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
      return yield* new ControlError.UnsupportedMediaType()
    }
    const proceed = () => NodeHttpServerRequest.toServerResponse(request).writeContinue()
    const text = yield* Body.read(NodeHttpServerRequest.toIncomingMessage(request), { limit, proceed })
    const body = yield* Body.parse(text)
    if (method === "POST" && path === "/mcp" && isJsonRpc(body)) {
      return yield* new ControlError.BadRequest({ detail: "the MCP endpoint is /gateway", issues: [] })
    }
    return yield* validateBody(body, check)
  })

const validateBody = (
  body: unknown,
  check: NonNullable<Route["check"]>
): Effect.Effect<unknown, ControlError.BadRequest> => {
  const issues = check(body)
  return issues.length === 0
    ? Effect.succeed(body)
    : Effect.fail(new ControlError.BadRequest({ detail: "the body is not what this route takes", issues }))
}

/** Whether the body is a JSON-RPC message or a batch with one. */
const isJsonRpc = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some((message) => Predicate.hasProperty(message, "jsonrpc"))

/** Replaces the body of a request by the parsed one. Escapes semicolons, because the router would end the path there. */
const withParsedBody = (request: HttpServerRequest, body: unknown): HttpServerRequest =>
  Object.create(request, {
    url: { value: request.url.replaceAll(";", "%3B") },
    json: { value: Effect.succeed(body) },
    headers: { value: { ...request.headers, "content-type": "application/json" } }
  }) as HttpServerRequest

const Refusal = Schema.Union(...ControlError.refusals)
const isRefusal = Schema.is(Schema.typeSchema(Refusal))
const encode = Schema.encodeSync(Refusal)

const respondToCause = (
  cause: Cause.Cause<unknown>,
  { route }: RequestContext
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = Cause.squash(cause)
  if (isRefusal(error)) return Effect.succeed(errorResponse(error))
  if (error instanceof HttpServerError.RouteNotFound) {
    return Effect.succeed(errorResponse(new ControlError.RouteNotFound({ path: error.request.url })))
  }
  const name = route === undefined ? "unknown" : `${route.method} ${route.path}`
  return Effect.as(logFault(name, error), errorResponse(new ControlError.InternalError()))
}

const errorResponse = (refusal: ControlError.Refusal): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(encode(refusal), {
    status: ControlError.statuses[refusal._tag],
    headers: headersOf(refusal)
  })

const headersOf = (refusal: ControlError.Refusal): Readonly<Record<string, string>> => {
  if (refusal._tag === "Unauthorized") return { "www-authenticate": "Bearer" }
  return refusal._tag === "MethodNotAllowed" ? { allow: refusal.allow.join(", ") } : {}
}
