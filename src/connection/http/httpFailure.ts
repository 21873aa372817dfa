/**
 * What an HTTP answer that is no success, or none at all, says about a server.
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

export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the body. */
  readonly body: string
  /** Whether the body goes on. */
  readonly isCut: boolean
  /** Whether the request named a session. */
  readonly inSession: boolean
}

export interface Context {
  readonly server: string
  readonly scrub: (text: string) => string
  /** The same for a text that goes on where we do not see it. */
  readonly scrubBeginning: (text: string) => string
  /** Whether a login may help. */
  readonly login: boolean
}

/** The one reading of a status: which of our errors it is decides what happens next. */
export const refusalError = (context: Context, refusal: Refusal): ConnectionError => {
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
  { login, scrub, server }: Context,
  reason: string,
  { description, scope }: Challenge
): AuthRequired =>
  new AuthRequired({
    server,
    reason: description === undefined ? reason : `${reason}: ${scrub(description)}`,
    login,
    ...defined({ scope: scope === undefined ? undefined : scrub(scope) })
  })

/** The words of a body, if it has some for people. */
const detailOf = (
  { scrub, scrubBeginning }: Context,
  { body, headers, isCut, status }: Refusal
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

/** Milliseconds, from seconds or a date. */
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

/** What a refusal says about the login that is wanted. */
export const parseChallenge = (header: string): Challenge => ({
  scope: parameter(header, "scope"),
  error: parameter(header, "error"),
  description: parameter(header, "error_description")
})

const parameter = (header: string, name: string): string | undefined => {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))`, "i").exec(header) ?? []
  return quoted ?? plain
}

export const networkError = ({ scrub, server }: Context, error: unknown): ConnectionError => {
  const code = codeOf(error)
  const isJunk = error instanceof Error && error.name === "HTTPParserError"
  if (isJunk || code.startsWith("HPE_") || code === "Z_DATA_ERROR" || code === "Z_BUF_ERROR") {
    return new IncompatibleServer({ server, detail: "its answer is not HTTP as we know it" })
  }
  return new NetworkFailed({
    server,
    code,
    permanent: isCertificate(error) || unusable.has(code) || isRefusedAddress(error),
    ...defined({ detail: detailOfError(scrub, error) })
  })
}

/** The system's name for an error, wherever it is hidden. */
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

/** What the platform itself does not go to. It has no code for that. */
const isRefusedAddress = (error: unknown): boolean =>
  error instanceof Error && /^(bad port|unknown scheme)$/.test(error.message)

/** Addresses and settings that no second attempt makes better. */
const unusable = new Set(["UND_ERR_INVALID_ARG", "ERR_INVALID_URL", "ERR_INVALID_CHAR"])

const isCertificate = (error: unknown): boolean =>
  /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_)/.test(codeOf(error))
