/**
 * Converts errors of the SDK to errors of the domain. It is total: any thrown value becomes an error of the domain.
 */
import {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  InsufficientScopeError,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  ProtocolError as SdkProtocolError,
  RegistrationRejectedError,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
  SseError,
  UnauthorizedError,
  UnsupportedProtocolVersionError
} from "@modelcontextprotocol/client"
import * as Schema from "effect/Schema"
import {
  AuthError,
  AuthRequired,
  ConnectionClosed,
  ConnectionError,
  ConnectTimeout,
  HandshakeRefused,
  HttpFailed,
  IncompatibleServer,
  RegistrationRequired,
  SpawnFailed,
  UnexpectedFailure
} from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"
import { type Issue, render } from "../../domain/Issue.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import { invalidResult, protocolError, requestFailure } from "../session/results.js"
import { type HttpContext, networkError, refusalError } from "../http/httpFailure.js"
import type { RequestError } from "../Session.js"
import { excerptOf, shown } from "../session/shown.js"
import { malformedKey } from "./sdkTransport.js"
import { spawnReason } from "../stdio/StdioCommand.js"
import { WireFailure } from "../wire/Wire.js"

export interface ErrorContext extends HttpContext {
  /** The current phase of the attempt. Defaults to `handshake`. */
  readonly phase?: AttemptPhase | undefined
  /** The timeout of the attempt in milliseconds. */
  readonly timeout?: number | undefined
  /** The reason for the end of the connection, once it has ended. */
  readonly closed?: ConnectionError | undefined
  /** The command of a local server, without secrets. */
  readonly command?: string | undefined
}

/** The reason why an attempt to connect failed or a connection ended. */
export const connectionError = (rawContext: ErrorContext, thrown: unknown): ConnectionError => {
  const { server } = rawContext
  const scrub = (text: string) => excerptOf(rawContext, text, maxDetail)
  const context = { ...rawContext, scrub }
  try {
    for (const error of chain(thrown)) {
      const classified = fromTransport(context, error) ?? fromAuth(context, error) ?? fromHandshake(context, error)
      if (classified !== undefined) return classified
    }
  } catch {
    // The thrown value cannot even be inspected.
  }
  return new UnexpectedFailure({ server, detail: shown(rawContext, textOf(thrown), maxUnexpected) })
}

/** The maximum number of characters of a server's text in an error. */
const maxDetail = 2 * 1024
const maxUnexpected = 500
const maxHint = 300

/** The maximum number of protocol revisions in an error. */
const maxRevisions = 20

/** An error, followed by its causes. */
function* chain(thrown: unknown): Iterable<unknown> {
  let error = thrown
  for (let depth = 0; depth < 5 && error !== undefined && error !== null; depth += 1) {
    yield error
    error = (error as { readonly cause?: unknown }).cause
  }
}

const isConnectionError = Schema.is(ConnectionError)

const fromTransport = (context: ErrorContext, error: unknown): ConnectionError | undefined => {
  const { server } = context
  if (error instanceof WireFailure) return error.reason
  if (isConnectionError(error)) return error
  const status = statusOf(error)
  if (status !== undefined) {
    return refusalError(context, { status, headers: {}, body: bodyOf(error), isCut: false, inSession: false })
  }
  if (error instanceof SdkError) {
    switch (error.code) {
      case SdkErrorCode.ConnectionClosed:
      case SdkErrorCode.NotConnected:
        return context.closed ?? new ConnectionClosed({ server })
      case SdkErrorCode.RequestTimeout:
        return new ConnectTimeout({ server, phase: context.phase ?? "handshake", after: context.timeout ?? 0 })
      case SdkErrorCode.ClientHttpUnexpectedContent:
        return new IncompatibleServer({ server, detail: context.scrub(error.message) })
      default:
        return undefined
    }
  }
  if (error instanceof SseError) {
    if (error.code !== undefined) return new IncompatibleServer({ server, detail: context.scrub(error.message) })
    const [code] = /\b(E[A-Z]{3,}|EAI_AGAIN|UND_ERR_[A-Z_]+)\b/.exec(error.message) ?? []
    return networkError(context, Object.assign(new Error(error.message), { code }))
  }
  if (!(error instanceof Error)) return undefined
  if (error.message === "Not connected") return context.closed ?? new ConnectionClosed({ server })
  const { code, syscall } = error as NodeJS.ErrnoException
  if (String(syscall).startsWith("spawn") && spawnReason(String(code)) !== undefined) {
    const reason = spawnReason(String(code))!
    const shortage = reason === "no_resources" ? { code: String(code) } : {}
    return new SpawnFailed({ server, command: context.command ?? "", reason, ...shortage })
  }
  if (error.message === "fetch failed") return networkError(context, error.cause ?? error)
  return typeof code === "string" && networkCode.test(code) ? networkError(context, error) : undefined
}

const networkCode =
  /^(E[A-Z]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+|CERT_[A-Z_]+|ERR_TLS_[A-Z_]+|DEPTH_ZERO_[A-Z_]+|SELF_SIGNED_[A-Z_]+|UNABLE_TO_[A-Z_]+)$/

/** The HTTP status of an SDK error. The SDK's own codes for HTTP failures say less than the status. */
const statusOf = (error: unknown): number | undefined => {
  if (error instanceof SseError) return error.code !== undefined && error.code >= 300 ? error.code : undefined
  if (!(error instanceof SdkError)) return undefined
  const { data } = error as { readonly data?: { readonly status?: unknown } }
  return typeof data?.status === "number" ? data.status : undefined
}

const bodyOf = (error: unknown): string => {
  const { data } = error as { readonly data?: { readonly text?: unknown } }
  return typeof data?.text === "string" ? data.text : ""
}

const fromAuth = (context: ErrorContext, error: unknown): ConnectionError | undefined => {
  const { login, scrub, server } = context
  const failed = (reason: string) => new AuthError({ server, reason: scrub(reason), detail: scrub(textOf(error)) })
  const required = (reason: string, scope?: string) =>
    new AuthRequired({ server, reason, login, ...defined({ scope: scope === undefined ? undefined : scrub(scope) }) })
  if (error instanceof InsufficientScopeError) return required("the login does not allow this", error.requiredScope)
  if (error instanceof UnauthorizedError) return required("the server asks for a login")
  if (error instanceof RegistrationRejectedError) {
    if (error.status === 429 || error.status >= 500) return new HttpFailed({ server, status: error.status })
    // Without authorization server metadata, the SDK registers with the server itself. A 404 there means that the server does
    // not support OAuth, but needs other credentials.
    if (error.status === 404) {
      return new AuthRequired({ server, reason: "the server wants credentials, but offers no login", login: false })
    }
    return new RegistrationRequired({ server, detail: "the authorization server refused to register us" })
  }
  if (error instanceof OAuthError) {
    switch (error.code) {
      case OAuthErrorCode.InvalidClient:
      case OAuthErrorCode.UnauthorizedClient:
      case OAuthErrorCode.InvalidClientMetadata:
      case "invalid_redirect_uri":
        return new RegistrationRequired({ server, detail: `the authorization server does not know us (${error.code})` })
      case OAuthErrorCode.AccessDenied:
      case OAuthErrorCode.InvalidGrant:
        return required(`the login was refused (${error.code})`)
      case OAuthErrorCode.ServerError:
      case OAuthErrorCode.TemporarilyUnavailable:
        return new HttpFailed({ server, status: 503, detail: "the authorization server is not available" })
      case OAuthErrorCode.TooManyRequests:
        return new HttpFailed({ server, status: 429, detail: "the authorization server wants fewer requests" })
      default:
        return failed(String(error.code))
    }
  }
  if (error instanceof IssuerMismatchError) return failed("issuer_mismatch")
  if (error instanceof AuthorizationServerMismatchError) return failed("authorization_server_mismatch")
  if (error instanceof InsecureTokenEndpointError) return failed("insecure_token_endpoint")
  if (!(error instanceof Error)) return undefined
  if (/does not support dynamic client registration|must be saveable for dynamic registration/.test(error.message)) {
    return new RegistrationRequired({ server, detail: "the authorization server does not register clients by itself" })
  }
  const [, status] = /^HTTP (5\d\d) trying to load/.exec(error.message) ?? []
  if (status !== undefined) return new HttpFailed({ server, status: Number(status) })
  if (error.message.startsWith("Incompatible auth server")) return failed("incompatible_server")
  return /^Protected resource .* does not match/.test(error.message) ? failed("resource_mismatch") : undefined
}

const fromHandshake = ({ closed, scrub, server }: ErrorContext, error: unknown): ConnectionError | undefined => {
  const incompatible = (detail: string) => new IncompatibleServer({ server, detail: scrub(detail) })
  if (error instanceof UnsupportedProtocolVersionError) {
    return incompatible(
      `it speaks ${error.supported.slice(0, maxRevisions).map(String).join(", ") || "no revision we know"}`
    )
  }
  if (error instanceof SdkProtocolError) {
    const malformed = malformedIssue(error)
    if (malformed !== undefined && malformed !== true) return incompatible(`its greeting: ${render(malformed)}`)
    return new HandshakeRefused({ server, code: error.code, detail: scrub(error.message) })
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.InvalidResult) return incompatible("its greeting is malformed")
    // If there is a cause, it says more.
    if (error.code !== SdkErrorCode.EraNegotiationFailed || error.cause !== undefined) return undefined
    if (closed !== undefined) return closed
    return incompatible(error.message)
  }
  if (!(error instanceof Error)) return undefined
  const [, revision] = /protocol version is not supported: (.*)$/s.exec(error.message) ?? []
  if (revision !== undefined) return incompatible(`it speaks ${revision}`)
  return error.message.startsWith("Server sent invalid initialize result")
    ? incompatible("its greeting is malformed")
    : undefined
}

/** The issue that the transport found in a malformed response; `true` if there is no further detail. */
const malformedIssue = ({ data }: SdkProtocolError): Issue | true | undefined =>
  (data as Record<string, Issue | true> | undefined)?.[malformedKey]

/**
 * The reason why a request on an open connection failed. A `WireFailure` knows whether the request was sent; for any other
 * error it counts as sent.
 */
export const requestError = (context: ErrorContext, thrown: unknown): RequestError => {
  const { server } = context
  if (thrown instanceof WireFailure) return requestFailure(server, thrown)
  if (thrown instanceof ResourceNotFoundError) {
    const { data, message } = thrown
    return protocolError(server, { code: Protocol.errorCodes.ResourceNotFound, message, data }, context)
  }
  if (thrown instanceof SdkProtocolError) {
    const malformed = malformedIssue(thrown)
    if (malformed === undefined) return protocolError(server, thrown, context)
    return invalidResult(server, malformed === true ? [] : [malformed])
  }
  if (thrown instanceof SdkError && thrown.code === SdkErrorCode.MethodNotSupportedByProtocolVersion) {
    return protocolError(server, { code: Protocol.errorCodes.MethodNotFound, message: thrown.message }, context)
  }
  if (thrown instanceof SdkError && invalidResponseCodes.has(thrown.code)) {
    const hint = shown(context, thrown.message, maxHint)
    return invalidResult(server, [{ path: [], expected: "a valid result", found: "something else", hint }])
  }
  const stage = statusOf(thrown) === undefined ? "sent" : "refused"
  return requestFailure(server, new WireFailure(connectionError(context, thrown), stage))
}

/** The SDK codes of an invalid response. */
const invalidResponseCodes: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.ListPaginationExceeded,
  SdkErrorCode.CapabilityNotSupported
])

const textOf = (thrown: unknown): string => {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)
  } catch {
    return "something that is no error and has no text"
  }
}
