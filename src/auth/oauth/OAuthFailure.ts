/**
 * Failures of requests to authorization servers, classified by how the caller has to react.
 */
import {
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  RegistrationRejectedError
} from "@modelcontextprotocol/client"
import * as Data from "effect/Data"
import { codeOf } from "../../connection/http/httpFailure.js"
import { AddressRefused } from "../../connection/http/OutboundGuard.js"

export class OAuthFailure extends Data.TaggedError("OAuthFailure")<{
  /**
   * - `unavailable`: no decision was made; a retry may succeed.
   * - `grant`: the code or the refresh token is no longer valid.
   * - `client`: the authorization server does not know or rejects the client.
   * - `registration`: the client cannot be registered automatically.
   * - `absent`: no authorization server was found.
   * - `refused`: rejected; a retry cannot succeed.
   */
  readonly kind: "unavailable" | "grant" | "client" | "registration" | "absent" | "refused"
  /** A constant name for programs. */
  readonly reason: string
  /** A text for people. It never repeats a response, which may contain anything. */
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

export const unavailable = (detail: string) => new OAuthFailure({ kind: "unavailable", reason: "unavailable", detail })

export const refused = (reason: string, detail: string) => new OAuthFailure({ kind: "refused", reason, detail })

/** The server names an address that its policy forbids. */
export const ofRefusedAddress = ({ host, verdict }: AddressRefused): OAuthFailure =>
  verdict === "unencrypted"
    ? refused("insecure_address", `the server names an address that is not https (${host}); nothing was sent there`)
    : refused(
        "private_address",
        `the server names an address of this machine or of a private network (${host}); nothing was sent there; if that is ` +
          `intended, set "privateNetwork": true for this server`
      )

/**
 * Error codes that concern a refresh token or its client (RFC 6749 §5.2, RFC 8707). Any other code may come from a
 * gateway.
 */
const verdicts = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "access_denied"
])

/** Classifies an error of a refresh. An error code outside of the standards does not end a login. */
export const classifyRefresh = (thrown: unknown): OAuthFailure =>
  thrown instanceof OAuthError && !verdicts.has(String(thrown.code))
    ? unavailable("the authorization server rejected the request with an unknown error code")
    : classify(thrown)

/** Classifies any thrown value. What is not recognised counts as `unavailable`. */
export const classify = (thrown: unknown): OAuthFailure => {
  if (thrown instanceof OAuthFailure) return thrown
  if (thrown instanceof AddressRefused) return ofRefusedAddress(thrown)
  if (thrown instanceof RegistrationRejectedError) return ofRegistration(thrown.status)
  if (thrown instanceof OAuthError) return ofCode(String(thrown.code))
  if (thrown instanceof IssuerMismatchError) {
    return refused("issuer_mismatch", "the metadata of the authorization server names another issuer")
  }
  if (thrown instanceof InsecureTokenEndpointError) {
    return refused("insecure_token_endpoint", "the token endpoint is not encrypted, so nothing is sent there")
  }
  if (!(thrown instanceof Error)) return unavailable("the authorization server returned an invalid response")
  if (thrown.message.includes("does not support dynamic client registration")) {
    return new OAuthFailure({
      kind: "registration",
      reason: "registration_required",
      detail: "the authorization server does not register clients automatically"
    })
  }
  if (thrown.message.startsWith("Incompatible auth server")) {
    return refused(
      "incompatible_server",
      "the authorization server does not support authorization codes with PKCE (S256)"
    )
  }
  const [, status] = /^HTTP (\d{3}) trying to load/.exec(thrown.message) ?? []
  if (status !== undefined)
    return unavailable(`the metadata of the authorization server cannot be loaded (HTTP ${status})`)
  if (thrown.message === "fetch failed")
    return unavailable(`the authorization server cannot be reached (${codeOf(thrown)})`)
  return unavailable("the authorization server returned an invalid response")
}

const ofRegistration = (status: number): OAuthFailure => {
  if (status === 429 || status >= 500)
    return unavailable(`the authorization server registers no clients at the moment (HTTP ${status})`)
  return new OAuthFailure({
    kind: "registration",
    reason: "registration_required",
    detail: `the authorization server rejected the registration of a client (HTTP ${status})`
  })
}

/** Classifies an OAuth error code from a response or a callback. */
export const ofCode = (code: string): OAuthFailure => {
  switch (code) {
    case OAuthErrorCode.InvalidGrant:
      return new OAuthFailure({ kind: "grant", reason: code, detail: "the code or refresh token is no longer valid" })
    case OAuthErrorCode.InvalidClient:
    case OAuthErrorCode.UnauthorizedClient:
    case OAuthErrorCode.InvalidClientMetadata:
    case "invalid_redirect_uri":
      return new OAuthFailure({
        kind: "client",
        reason: code,
        detail: `the authorization server does not accept the client (${code})`
      })
    case OAuthErrorCode.ServerError:
    case OAuthErrorCode.TemporarilyUnavailable:
    case OAuthErrorCode.TooManyRequests:
      return unavailable(`the authorization server is not available (${code})`)
    case OAuthErrorCode.AccessDenied:
      return refused(code, "access was denied on the page of the authorization server")
    default:
      return /^[a-z][a-z0-9_]{0,40}$/.test(code)
        ? refused(code, "the authorization server rejected the request")
        : refused("refused", "the authorization server rejected the request with an invalid error code")
  }
}
