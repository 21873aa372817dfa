/**
 * What stands around the whole API: it lets in who may come in, reads bodies, and says no in one voice.
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
  /** Bytes that a body may have. */
  readonly maxBody: number
}

export const requestPipeline =
  ({ maxBody, policy }: Options) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
    Effect.suspend(() => {
      const asked: Asked = { route: undefined }
      return Effect.catchAllCause(admitted(app, { maxBody, policy }, asked), (cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.failCause(cause as Cause.Cause<never>)
          : Effect.zipLeft(answerCause(cause, asked), dismissed)
      )
    }).pipe(
      Effect.zipWith(HttpServerRequest, (answer, { headers }) =>
        HttpServerResponse.setHeaders(answer, { ...always, ...Admission.sharing(policy, headers) })
      )
    )

/** What is known about a request when it fails. */
interface Asked {
  route: Route | undefined
}

const admitted = <E, R>(app: HttpApp.Default<E, R>, { maxBody, policy }: Options, asked: Asked) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest
    if (Admission.isPreflight(policy, request.method, request.headers)) {
      return HttpServerResponse.empty({ headers: Admission.allowances })
    }
    const refusal = Admission.refuse(policy, request.headers) ?? ambiguous(request)
    if (refusal !== undefined) return yield* refusal
    const route = yield* match(request.method, request.url)
    asked.route = route
    const body = yield* bodyOf(request, route, maxBody)
    return yield* Effect.provideService(app, HttpServerRequest, understood(request, body))
  })

/** Node hears only the first of several hosts; others may hear another. */
const ambiguous = (request: HttpServerRequest): ControlError.Forbidden | undefined => {
  const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host")
  return hosts.length > 1 ? new ControlError.Forbidden({ header: "host" }) : undefined
}

/** Who was refused has nothing more to say. */
const dismissed = Effect.flatMap(HttpServerRequest, (request) =>
  Body.dismiss(NodeHttpServerRequest.toIncomingMessage(request))
)

/** What is answered is of the moment, for whoever asked, and nothing that a browser should make something of. */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

const bodyOf = (
  request: HttpServerRequest,
  { check, method, path }: Route,
  limit: number
): Effect.Effect<unknown, ControlError.Refusal> =>
  Effect.gen(function* () {
    if (check === undefined) return {}
    if (!Body.isAnnounced(request.headers)) return yield* checked({}, check)
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
      return yield* new ControlError.UnsupportedMediaType()
    }
    const proceed = () => NodeHttpServerRequest.toServerResponse(request).writeContinue()
    const text = yield* Body.read(NodeHttpServerRequest.toIncomingMessage(request), { limit, proceed })
    const body = yield* Body.parse(text)
    if (method === "POST" && path === "/mcp" && isJsonRpc(body)) {
      return yield* new ControlError.BadRequest({ detail: "the MCP endpoint is /gateway", issues: [] })
    }
    return yield* checked(body, check)
  })

const checked = (
  body: unknown,
  check: NonNullable<Route["check"]>
): Effect.Effect<unknown, ControlError.BadRequest> => {
  const issues = check(body)
  return issues.length === 0
    ? Effect.succeed(body)
    : Effect.fail(new ControlError.BadRequest({ detail: "the body is not what this route takes", issues }))
}

/** One message, or several at once. */
const isJsonRpc = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some((message) => Predicate.hasProperty(message, "jsonrpc"))

/** The same request, whose body was read. To the router, a semicolon ends a path; it is part of it. */
const understood = (request: HttpServerRequest, body: unknown): HttpServerRequest =>
  Object.create(request, {
    url: { value: request.url.replaceAll(";", "%3B") },
    json: { value: Effect.succeed(body) },
    headers: { value: { ...request.headers, "content-type": "application/json" } }
  }) as HttpServerRequest

const Refusal = Schema.Union(...ControlError.refusals)
const isRefusal = Schema.is(Schema.typeSchema(Refusal))
const encode = Schema.encodeSync(Refusal)

const answerCause = (
  cause: Cause.Cause<unknown>,
  { route }: Asked
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = Cause.squash(cause)
  if (isRefusal(error)) return Effect.succeed(answer(error))
  if (error instanceof HttpServerError.RouteNotFound) {
    return Effect.succeed(answer(new ControlError.RouteNotFound({ path: error.request.url })))
  }
  const name = route === undefined ? "unknown" : `${route.method} ${route.path}`
  return Effect.as(logFault(name, error), answer(new ControlError.InternalError()))
}

const answer = (refusal: ControlError.Refusal): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(encode(refusal), {
    status: ControlError.statuses[refusal._tag],
    headers: hints(refusal)
  })

const hints = (refusal: ControlError.Refusal): Readonly<Record<string, string>> => {
  if (refusal._tag === "Unauthorized") return { "www-authenticate": "Bearer" }
  return refusal._tag === "MethodNotAllowed" ? { allow: refusal.allow.join(", ") } : {}
}
