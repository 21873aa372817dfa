/**
 * Decides which endpoints a login may use, before registering, opening a page or sending a secret.
 */
import * as Effect from "effect/Effect"
import type { AddressRefused } from "../../connection/http/OutboundGuard.js"
import { isLoopback } from "../../domain/NetworkAddress.js"
import { reveal } from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { Discovery, PendingLogin } from "../tokens/Credential.js"
import { grantOf } from "../tokens/Grant.js"
import { OAuthFailure, ofRefusedAddress, refused } from "./OAuthFailure.js"

/** Returns why an address must not be used, or `undefined`. */
export type Inspect = (url: URL) => Promise<AddressRefused | undefined>

// --- configured ------------------------------------------------------------------------------------------------------

/** Endpoints that are configured together with a secret: the secret is sent only to them. */
export interface FixedEndpoints {
  readonly authorization: string | undefined
  readonly token: string | undefined
  /** The origins of both, at least one. */
  readonly origins: readonly [string, ...ReadonlyArray<string>]
  /** Whether no discovery is needed. */
  readonly isComplete: boolean
}

export const fixedBy = (settings: OAuthSettings): FixedEndpoints | undefined => {
  if (settings.clientSecret === undefined && settings.privateKeyPem === undefined) return undefined
  const authorization = settings.authorizationUrl && reveal(settings.authorizationUrl)
  const token = settings.tokenUrl && reveal(settings.tokenUrl)
  const [first, ...others] = [authorization, token].filter((url) => url !== undefined).map((url) => new URL(url).origin)
  if (first === undefined) return undefined
  const isComplete = token !== undefined && (authorization !== undefined || !grantOf(settings).usesLoginPage)
  return { authorization, token, origins: [first, ...others], isComplete }
}

export const isWithin = ({ origins }: FixedEndpoints, url: unknown): url is string =>
  typeof url === "string" && URL.canParse(url) && origins.includes(new URL(url).origin)

/**
 * The authorization server whose metadata is requested: the configured issuer, else one that the server names. None if
 * the config fixes all endpoints and the server names another one.
 */
export const metadataSource = (
  settings: OAuthSettings,
  serverUrl: string,
  /** The authorization servers that the server names. */
  named: ReadonlyArray<string> = []
): string | undefined => {
  const fixed = fixedBy(settings)
  if (fixed === undefined) return named[0] ?? new URL("/", serverUrl).href
  const issuers = settings.issuer === undefined ? named : [reveal(settings.issuer), ...named]
  return issuers.find((url) => isWithin(fixed, url)) ?? (fixed.isComplete ? undefined : `${fixed.origins[0]}/`)
}

/**
 * Whether metadata belongs to the authorization server whose endpoints the config fixes. One origin can serve several
 * authorization servers, such as the tenants of an identity provider, and the server could name another one.
 */
export const isMetadataOf = (
  { authorization, token }: FixedEndpoints,
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

/**
 * Fails if the configured secret would be sent to another endpoint than the config allows: a stored login may be older
 * than the config.
 */
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

// --- published -------------------------------------------------------------------------------------------------------

export interface Endpoints {
  readonly authorization: string | undefined
  readonly token: string
  readonly registration: string | undefined
}

/** Without metadata, the endpoints have their default paths from before metadata existed. */
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

/** Checks whether a login may start with this discovery. Sends no request, but may resolve names. */
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
    // The server publishes no login: it may expect other credentials.
    if (discovery.metadata === undefined && !isEncrypted(new URL(token))) return yield* noLogin
    yield* checkEndpoint("token", token, inspect)
    if (!grantOf(settings).usesLoginPage) return
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
  detail: "the server requires credentials, but publishes no login, and does not use https"
})

const missing = (key: string, what: string) =>
  refused("incompatible_server", `there is no ${what}; set "oauth": { "${key}": … }`)

const withoutPkce = refused(
  "incompatible_server",
  "the metadata of the authorization server does not mention PKCE with S256, which protects the login; if the server supports " +
    `it nevertheless, set "oauth": { "assumePkce": true }`
)

/** Whether PKCE is supported. Published metadata has an issuer; configured endpoints say nothing about PKCE. */
const saysPkce = ({ metadata }: Discovery): boolean => {
  if (metadata?.issuer === undefined) return true
  const methods = metadata.code_challenge_methods_supported
  return Array.isArray(methods) && methods.includes("S256")
}

/**
 * Requires https or a loopback address: the page is opened in a browser, and secrets are sent to the other endpoints.
 */
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

/** Of all loopback addresses `127.…`, the SDK sends credentials only to `127.0.0.1`. */
const isEncrypted = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopback(hostname) && !/^127\.(?!0\.0\.1$)/.test(hostname))

// --- the issuer ------------------------------------------------------------------------------------------------------

/**
 * Whether a callback comes from the authorization server of the login (RFC 9207). If metadata announces the parameter
 * `iss`, it is required; if it is present, it has to match, with or without metadata.
 */
export const isFromIssuer = ({ discovery, issuer }: PendingLogin, values: ReadonlyArray<string>): boolean => {
  const { metadata } = discovery
  if (values.length === 0) return metadata?.authorization_response_iss_parameter_supported !== true
  const isPublished = metadata?.issuer !== undefined
  const isRight = (iss: string) => (isPublished ? iss === metadata.issuer : isSameIssuer(issuer, iss))
  return values.every(isRight)
}

/** An origin with and without a trailing slash is the same issuer. */
export const isSameIssuer = (a: string, b: string): boolean => withoutSlash(a) === withoutSlash(b)

const withoutSlash = (issuer: string): string => issuer.replace(/^(https?:\/\/[^/?#]+)\/$/, "$1")
