/**
 * Converts a refused or failed HTTP request into a connection error.
 */
import type { IncomingHttpHeaders } from "node:http"
import {
  AuthRequired,
  type ConnectionError,
  HttpFailed,
  IncompatibleServer,
  NetworkFailed,
  SessionLost
} from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"

export interface RefusedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the body. */
  readonly body: string
  /** Whether the body is longer than that. */
  readonly isCut: boolean
  /** Whether the request belonged to a session. */
  readonly inSession: boolean
}

export interface HttpContext {
  readonly server: string
  readonly scrub: (text: string) => string
  /** Scrubs the beginning of a text whose rest is unknown. */
  readonly scrubBeginning: (text: string) => string
  /** Whether a login may help. */
  readonly login: boolean
}

/** Converts a status to an error. This is the only place that decides it; the error decides how the supervisor reacts. */
export const refusalError = (context: HttpContext, refusal: RefusedResponse): ConnectionError => {
  const { server } = context
  const { headers, inSession, status } = refusal
  const challenge = parseChallenge(String(headers["www-authenticate"] ?? ""))
  if (status === 401) {
    const reason = challenge.error === undefined ? "the server asks for a login" : `the login was refused`
    return authRequired(context, reason, challenge)
  }
  if (status === 403 && challenge.error === "insufficient_scope") {
    return authRequired(context, "the login does not allow this", challenge)
  }
  if (status === 404 && inSession) return new SessionLost({ server })
  return new HttpFailed({
    server,
    status,
    ...defined({ retryAfter: retryAfter(headers["retry-after"]), detail: detailOf(context, refusal) })
  })
}

const authRequired = (
  { login, scrub, server }: HttpContext,
  reason: string,
  { description, scope }: Challenge
): AuthRequired =>
  new AuthRequired({
    server,
    reason: description === undefined ? reason : `${reason}: ${scrub(description)}`,
    login,
    ...defined({ scope: scope === undefined ? undefined : scrub(scope) })
  })

/** The text in a body, if it is meant for people. */
const detailOf = (
  { scrub, scrubBeginning }: HttpContext,
  { body, headers, isCut, status }: RefusedResponse
): string | undefined => {
  if (headers.location !== undefined && status >= 300 && status < 400) {
    return `it points to ${scrub(withoutQuery(headers.location))}`
  }
  const text = messageIn(body) ?? (/^\s*</.test(body) ? undefined : body)
  const line = text?.replace(/\s+/g, " ").trim()
  return line === undefined || line === "" ? undefined : (isCut ? scrubBeginning : scrub)(line).slice(0, 300)
}

const withoutQuery = (location: string): string => location.replace(/[?#].*$/s, "")

const messageIn = (body: string): string | undefined => {
  try {
    const { error } = JSON.parse(body)
    const text = typeof error === "string" ? error : error?.message
    return typeof text === "string" ? text : undefined
  } catch {
    return undefined
  }
}

/** Parses `retry-after`, in seconds or as a date, to milliseconds. */
export const retryAfter = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined
  const millis = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(millis) ? Math.max(0, millis) : undefined
}

export interface Challenge {
  readonly scope?: string | undefined
  readonly error?: string | undefined
  readonly description?: string | undefined
}

/** Parses the header `www-authenticate`. */
export const parseChallenge = (header: string): Challenge => ({
  scope: parameter(header, "scope"),
  error: parameter(header, "error"),
  description: parameter(header, "error_description")
})

const parameter = (header: string, name: string): string | undefined => {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))`, "i").exec(header) ?? []
  return quoted ?? plain
}

export const networkError = ({ scrub, server }: HttpContext, error: unknown): ConnectionError => {
  const code = codeOf(error)
  const isJunk = error instanceof Error && error.name === "HTTPParserError"
  if (isJunk || code.startsWith("HPE_") || code === "Z_DATA_ERROR" || code === "Z_BUF_ERROR") {
    return new IncompatibleServer({ server, detail: "its answer is not HTTP as we know it" })
  }
  return new NetworkFailed({
    server,
    code,
    permanent: isCertificate(error) || permanentCodes.has(code) || isRefusedAddress(error),
    ...defined({ detail: detailOfError(scrub, error) })
  })
}

/** The code of a system error, from the error itself or its causes. */
export const codeOf = (error: unknown): string => {
  for (let each = error as NodeJS.ErrnoException | undefined, depth = 0; each != null && depth < 5; depth += 1) {
    if (typeof each.code === "string") return each.code
    each = (each as { readonly cause?: NodeJS.ErrnoException }).cause
  }
  return "UNKNOWN"
}

const detailOfError = (scrub: (text: string) => string, error: unknown): string | undefined => {
  const text = error instanceof Error ? error.message : ""
  return text === "" ? undefined : scrub(text).slice(0, 200)
}

/** Whether the URL has a port or scheme that the platform blocks. These errors have no code. */
const isRefusedAddress = (error: unknown): boolean =>
  error instanceof Error && /^(bad port|unknown scheme)$/.test(error.message)

/** The codes of errors that a retry cannot solve: invalid addresses and settings. */
const permanentCodes = new Set(["UND_ERR_INVALID_ARG", "ERR_INVALID_URL", "ERR_INVALID_CHAR"])

const isCertificate = (error: unknown): boolean =>
  /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_)/.test(codeOf(error))
