/**
 * Which endpoints a login may use, decided before a client is registered, a page is opened or a secret is sent.
 */
import * as Effect from "effect/Effect"
import type { AddressRefused } from "../../connection/http/OutboundGuard.js"
import { isLoopback } from "../../domain/NetworkAddress.js"
import { reveal } from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { Discovery, Pending } from "../tokens/Credential.js"
import { OAuthFailure, ofRefusedAddress, refused } from "./OAuthFailure.js"

/** Why an address may not be used, if it may not. */
export type Inspect = (url: URL) => Promise<AddressRefused | undefined>

// --- what the config fixes ------------------------------------------------------------------------------------------

/** Endpoints that stand beside a secret in the config: the secret goes to them and nowhere else. */
export interface Fixed {
  readonly authorization: string | undefined
  readonly token: string | undefined
  /** The origins of both, at least one. */
  readonly origins: readonly [string, ...ReadonlyArray<string>]
  /** Whether nothing has to be looked for. */
  readonly isComplete: boolean
}

export const fixedBy = (settings: OAuthSettings): Fixed | undefined => {
  if (settings.clientSecret === undefined && settings.privateKeyPem === undefined) return undefined
  const authorization = settings.authorizationUrl && reveal(settings.authorizationUrl)
  const token = settings.tokenUrl && reveal(settings.tokenUrl)
  const [first, ...others] = [authorization, token].filter((url) => url !== undefined).map((url) => new URL(url).origin)
  if (first === undefined) return undefined
  const isComplete = token !== undefined && (authorization !== undefined || settings.grant === "client_credentials")
  return { authorization, token, origins: [first, ...others], isComplete }
}

export const isWithin = ({ origins }: Fixed, url: unknown): url is string =>
  typeof url === "string" && URL.canParse(url) && origins.includes(new URL(url).origin)

/**
 * Which authorization server is asked to describe itself: the configured issuer, else one that the server names. None where the
 * config fixes everything and the server names another one.
 */
export const describedBy = (
  settings: OAuthSettings,
  serverUrl: string,
  /** By the server. */
  named: ReadonlyArray<string> = []
): string | undefined => {
  const fixed = fixedBy(settings)
  if (fixed === undefined) return named[0] ?? new URL("/", serverUrl).href
  const issuers = settings.issuer === undefined ? named : [reveal(settings.issuer), ...named]
  return issuers.find((url) => isWithin(fixed, url)) ?? (fixed.isComplete ? undefined : `${fixed.origins[0]}/`)
}

/**
 * Whether metadata is that of the authorization server whose endpoints the config fixes. One origin can serve several of them,
 * such as the tenants of an identity provider, and the server could name another one.
 */
export const isDescriptionOf = (
  { authorization, token }: Fixed,
  metadata: { readonly authorization_endpoint?: unknown; readonly token_endpoint?: unknown }
): boolean => isPublished(authorization, metadata.authorization_endpoint) && isPublished(token, metadata.token_endpoint)

const isPublished = (configured: string | undefined, published: unknown): boolean =>
  configured === undefined || (typeof published === "string" && placeOf(published) === placeOf(configured))

/** A URL without its query: the config may add parameters. */
const placeOf = (url: string): string | undefined => {
  if (!URL.canParse(url)) return undefined
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** Fails where the secret of the config would go to another endpoint than the config says: a login may be older than that. */
export const assertFixed = (settings: OAuthSettings, discovery: Discovery): void => {
  const fixed = fixedBy(settings)
  if (fixed === undefined) return
  const { token } = endpointsOf(discovery)
  const isRight = fixed.token === undefined ? isWithin(fixed, token) : isSameUrl(fixed.token, token)
  if (!isRight) throw otherEndpoint
}

const isSameUrl = (a: string, b: string): boolean => new URL(a).href === new URL(b).href

const otherEndpoint = refused(
  "other_token_endpoint",
  `the login was made at another authorization server than "tokenUrl" or "authorizationUrl" of the config name; log in again`
)

// --- what is published ----------------------------------------------------------------------------------------------

export interface Endpoints {
  readonly authorization: string | undefined
  readonly token: string
  readonly registration: string | undefined
}

/** Where nothing is published, the endpoints have the names that were usual before there was metadata. */
export const endpointsOf = ({ authorizationServerUrl, metadata }: Discovery): Endpoints => {
  const usual = (path: string) => new URL(path, authorizationServerUrl).href
  const published = (key: string) => metadata?.[key] as string | undefined
  return metadata === undefined
    ? { authorization: usual("/authorize"), token: usual("/token"), registration: usual("/register") }
    : {
        authorization: published("authorization_endpoint"),
        token: published("token_endpoint") ?? usual("/token"),
        registration: published("registration_endpoint")
      }
}

/** Whether a login may begin with what was found. Sends no request, but may resolve names. */
export const checkLogin = (
  discovery: Discovery,
  options: {
    readonly settings: OAuthSettings
    /** Whether a client may have to be registered. */
    readonly registers: boolean
    readonly inspect: Inspect
  }
): Effect.Effect<void, OAuthFailure> =>
  Effect.gen(function* () {
    const { inspect, registers, settings } = options
    const { authorization, registration, token } = endpointsOf(discovery)
    // the server publishes no login: it may expect other credentials
    if (discovery.metadata === undefined && !isEncrypted(new URL(token))) return yield* noLogin
    yield* checkEndpoint("token", token, inspect)
    if (settings.grant === "client_credentials") return
    if (authorization === undefined) return yield* missing("authorizationUrl", "address to log in at")
    if (discovery.metadata?.token_endpoint === undefined && fixedBy(settings) !== undefined) {
      return yield* missing("tokenUrl", "token endpoint")
    }
    if (settings.assumePkce !== true && !saysPkce(discovery)) return yield* withoutPkce
    yield* checkEndpoint("authorization", authorization, inspect)
    if (registers && registration !== undefined) yield* checkEndpoint("registration", registration, inspect)
  })

const noLogin = new OAuthFailure({
  kind: "absent",
  reason: "no_login",
  detail: "the server wants credentials, but publishes no login, and is not encrypted itself"
})

const missing = (key: string, what: string) =>
  refused("incompatible_server", `there is no ${what}; set "oauth": { "${key}": … }`)

const withoutPkce = refused(
  "incompatible_server",
  "the metadata of the authorization server does not mention PKCE with S256, which protects the login; if the server supports " +
    `it nevertheless, set "oauth": { "assumePkce": true }`
)

/** Metadata that an authorization server published has an issuer; endpoints of the config say nothing about PKCE. */
const saysPkce = ({ metadata }: Discovery): boolean => {
  if (metadata?.issuer === undefined) return true
  const methods = metadata.code_challenge_methods_supported
  return Array.isArray(methods) && methods.includes("S256")
}

/** The page is opened in a browser, and secrets go to the others: https, or this machine. */
const checkEndpoint = (name: "authorization" | "token" | "registration", url: string, inspect: Inspect) =>
  Effect.gen(function* () {
    const target = URL.canParse(url) ? new URL(url) : undefined
    if (target === undefined || !isEncrypted(target)) {
      const detail = `the ${name} endpoint of the authorization server is not encrypted; nothing was sent there`
      return yield* refused(`insecure_${name}_endpoint`, detail)
    }
    const refusal = yield* Effect.promise(() => inspect(target))
    if (refusal !== undefined) yield* ofRefusedAddress(refusal)
  })

/** Of the addresses `127.…`, the SDK sends credentials to the first only. */
const isEncrypted = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopback(hostname) && !/^127\.(?!0\.0\.1$)/.test(hostname))

// --- who answers ----------------------------------------------------------------------------------------------------

/**
 * Whether an answer that came by way of the browser is from the authorization server that the login was begun with (RFC 9207).
 * Where metadata announces the parameter, it has to be there; where it is given, it has to be right, metadata or not.
 */
export const isFromIssuer = ({ discovery, issuer }: Pending, answers: ReadonlyArray<string>): boolean => {
  const { metadata } = discovery
  if (answers.length === 0) return metadata?.authorization_response_iss_parameter_supported !== true
  const isPublished = metadata?.issuer !== undefined
  const isRight = (iss: string) => (isPublished ? iss === metadata.issuer : isSameIssuer(issuer, iss))
  return answers.every(isRight)
}

/** A bare origin and the same with a slash are one address. */
export const isSameIssuer = (a: string, b: string): boolean => withoutSlash(a) === withoutSlash(b)

const withoutSlash = (issuer: string): string => issuer.replace(/^(https?:\/\/[^/?#]+)\/$/, "$1")
