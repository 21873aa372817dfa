/**
 * Finds the authorization server of a server from the metadata that both publish, and reports each step.
 */
import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  IssuerMismatchError,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { codeOf } from "../../connection/http/httpFailure.js"
import { AddressRefused } from "../../connection/http/OutboundGuard.js"
import { defined } from "../../domain/internal/defined.js"
import { reveal } from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { LoginChallenge } from "../login/LoginState.js"
import type { Discovery } from "../tokens/Credential.js"
import { grantOf } from "../tokens/Grant.js"
import type { DiscoveryStep, OnStep } from "./DiscoveryStep.js"
import { type FixedEndpoints, fixedBy, isMetadataOf, isSameIssuer, isWithin, metadataSource } from "./endpoints.js"
import { askedFor } from "./oauthScopes.js"
import { classify, type OAuthFailure, refused } from "./OAuthFailure.js"

interface Options {
  readonly serverUrl: string
  readonly resourceMetadataUrl?: string | undefined
  readonly settings: OAuthSettings
  /** Called for each request. Must not throw. */
  readonly onStep?: OnStep
}

/** Sends a request without credentials and returns the challenge of the server; empty if there is none. */
export const requestChallenge = (fetch: FetchLike, serverUrl: string, onStep?: OnStep): Effect.Effect<LoginChallenge> =>
  Effect.tryPromise(async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
    const body = JSON.stringify({ jsonrpc: "2.0", id: "login", method: "ping" })
    const { origin, pathname } = new URL(serverUrl)
    // Without the query, which often contains a secret.
    const step = { subject: "server", request: { method: "POST", url: origin + pathname } } as const
    try {
      const response = await fetch(serverUrl, { method: "POST", headers, body })
      const { ok, status } = response
      const challenge = response.headers.get("www-authenticate")
      const detail = `HTTP ${status}${challenge === null ? "" : `, WWW-Authenticate: ${challenge}`}`
      onStep?.({ ...step, status, detail, ok: ok || status === 401 })
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      return { scope: askedFor(scope), resourceMetadataUrl: resourceMetadataUrl?.href }
    } catch (error) {
      onStep?.({ ...step, detail: describeFailure(error), ok: false })
      throw error
    }
  }).pipe(Effect.orElseSucceed(() => ({})))

/** The authorization server and its metadata. */
type FoundServer = Pick<Discovery, "authorizationServerUrl" | "issuer"> & { readonly metadata: object | undefined }

/**
 * Finds the authorization server: by the metadata that the server names or publishes, else on the server itself.
 * Configured endpoints apply if nothing is published. Endpoints configured together with a secret always apply.
 */
export const discover = (fetch: FetchLike, options: Options): Effect.Effect<Discovery, OAuthFailure> =>
  Effect.tryPromise({
    try: async () => {
      const { onStep, resourceMetadataUrl, serverUrl, settings } = options
      const described = await loadResourceMetadata(fetch, serverUrl, resourceMetadataUrl, onStep)
      const { resourceMetadata } = described
      const fixed = fixedBy(settings)
      const { metadata, ...found } = await (fixed === undefined
        ? findNamed(fetch, options, described)
        : findWithin(fetch, fixed, options, resourceMetadata?.authorization_servers))
      return {
        ...found,
        ...defined({
          resourceMetadata: resourceMetadata as Discovery["resourceMetadata"],
          metadata: withConfiguredTokenUrl(settings, metadata) as Discovery["metadata"],
          resource: resourceOf(serverUrl, resourceMetadata)
        })
      }
    },
    catch: classify
  })

interface LoadedResource {
  readonly resourceMetadata: OAuthProtectedResourceMetadata | undefined
  /** Why the metadata could not be loaded, if it may exist. */
  readonly failure?: Error | undefined
}

const findNamed = async (
  fetch: FetchLike,
  { onStep, serverUrl, settings }: Options,
  { failure, resourceMetadata }: LoadedResource
): Promise<FoundServer> => {
  const isConfigured = settings.authorizationUrl !== undefined || settings.tokenUrl !== undefined
  const authorizationServerUrl = resourceMetadata?.authorization_servers?.[0] ?? new URL("/", serverUrl).href
  const found = await loadServerMetadata(fetch, authorizationServerUrl, onStep).catch((error) => {
    if (isConfigured && !(error instanceof IssuerMismatchError)) return undefined
    throw error
  })
  // The metadata that could not be loaded may name another authorization server.
  if (found === undefined && failure !== undefined && !isConfigured) throw failure
  if (found === undefined && isConfigured) {
    onStep?.(note("there is no metadata; the endpoints of the config are used"))
    const metadata = fromSettings(settings)
    return { authorizationServerUrl, metadata, issuer: expectedIssuer(settings) ?? authorizationServerUrl }
  }
  const issuer = found?.issuer ?? authorizationServerUrl
  assertIssuer(settings, issuer)
  return { authorizationServerUrl, metadata: found, issuer }
}

/** Uses metadata only if it publishes the configured endpoints, and ignores endpoints of other origins. */
const findWithin = async (
  fetch: FetchLike,
  fixed: FixedEndpoints,
  { onStep, serverUrl, settings }: Options,
  named: ReadonlyArray<string> | undefined
): Promise<FoundServer> => {
  const url = metadataSource(settings, serverUrl, named)
  const described =
    url === undefined
      ? undefined
      : await loadServerMetadata(fetch, url, onStep).catch((error) => {
          if (fixed.isComplete) return undefined
          throw error
        })
  const found = described !== undefined && isMetadataOf(fixed, described) ? described : undefined
  if (url === undefined) onStep?.(note("not requested: the config names the endpoints and a secret for them"))
  else if (found === undefined) onStep?.(note("no metadata for the endpoints of the config; those are used"))
  if (found !== undefined) assertIssuer(settings, found.issuer)
  const { authorization_endpoint, registration_endpoint: _, token_endpoint, ...rest } = found ?? fromSettings(settings)
  const within = (endpoint: unknown) => (isWithin(fixed, endpoint) ? endpoint : undefined)
  return {
    authorizationServerUrl: found === undefined || url === undefined ? `${fixed.origins[0]}/` : url,
    issuer: found?.issuer ?? expectedIssuer(settings) ?? fixed.origins[0],
    metadata: {
      ...rest,
      ...defined({
        authorization_endpoint: fixed.authorization ?? within(authorization_endpoint),
        token_endpoint: fixed.token ?? within(token_endpoint)
      })
    }
  }
}

const note = (detail: string): DiscoveryStep => ({ subject: "authorization", detail, ok: true })

/** Without a login page, a configured token endpoint replaces the published one. */
const withConfiguredTokenUrl = (settings: OAuthSettings, metadata: object | undefined): object | undefined =>
  settings.tokenUrl === undefined || grantOf(settings).usesLoginPage
    ? metadata
    : { ...metadata, token_endpoint: reveal(settings.tokenUrl) }

/** Tries the address from the challenge first, then the default places: the address may be wrong. */
const loadResourceMetadata = async (
  fetch: FetchLike,
  serverUrl: string,
  named: string | undefined,
  onStep: OnStep
): Promise<LoadedResource> => {
  let failure: Error | undefined
  for (const resourceMetadataUrl of named === undefined ? [undefined] : [named, undefined]) {
    try {
      const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }
      const resourceMetadata = await reporting("resource", fetch, onStep, {
        load: (fetch) => discoverOAuthProtectedResourceMetadata(serverUrl, options, fetch),
        finding: ({ authorization_servers: servers = [] }) =>
          servers.length === 0 ? "names no authorization server" : `logs in at ${servers.join(", ")}`
      })
      return { resourceMetadata }
    } catch (error) {
      if (error instanceof TypeError) throw error
      const isOutage = error instanceof Error && /^HTTP 5\d\d /.test(error.message)
      if (isOutage || error instanceof AddressRefused) failure ??= error
    }
  }
  return { failure, resourceMetadata: undefined }
}

const loadServerMetadata = (fetch: FetchLike, url: string, onStep: OnStep) => {
  const load = (url: string) =>
    reporting("authorization", fetch, onStep, {
      load: (fetch) => discoverAuthorizationServerMetadata(url, { fetchFn: fetch }),
      finding: (metadata) => `issuer ${metadata?.issuer}`
    })
  return load(url).catch((error) => {
    // An origin with and without a trailing slash is the same issuer.
    const isBare = new URL(url).pathname === "/" && !url.endsWith("/")
    if (isBare && error instanceof IssuerMismatchError && error.received === `${url}/`) return load(`${url}/`)
    throw error
  })
}

/** Loads a document and reports the requests that the SDK sends for it. The last one decides. */
const reporting = async <A>(
  subject: DiscoveryStep["subject"],
  fetch: FetchLike,
  onStep: OnStep,
  {
    finding,
    load
  }: {
    readonly load: (fetch: FetchLike) => Promise<A>
    /** Describes a loaded document. */
    readonly finding: (document: A) => string
  }
): Promise<A> => {
  const requests: Array<{ readonly url: string; status?: number }> = []
  const recording: FetchLike = async (url, init) => {
    const request: (typeof requests)[number] = { url: String(url) }
    requests.push(request)
    const response = await fetch(url, init)
    request.status = response.status
    return response
  }
  const report = (isUsed: boolean, outcome: string) => {
    for (const [index, { status, url }] of requests.entries()) {
      const isDecisive = index === requests.length - 1 && (status === undefined || isSuccess(status))
      const parts = [...(status === undefined ? [] : [`HTTP ${status}`]), ...(isDecisive ? [outcome] : [])]
      const request = { method: "GET", url } as const
      onStep?.({ subject, request, status, detail: parts.join(", "), ok: isDecisive && isUsed })
    }
  }
  try {
    const document = await load(recording)
    report(true, finding(document))
    return document
  } catch (error) {
    const { detail, kind, reason } = classify(error)
    const isAnswered = isSuccess(requests.at(-1)?.status ?? 0)
    if (!isAnswered) report(false, describeFailure(error))
    else report(false, kind === "unavailable" ? "rejected: not valid metadata" : `rejected: ${reason}: ${detail}`)
    throw error
  }
}

/** Why a request has no usable response. `classify` would say that the authorization server cannot be reached. */
const describeFailure = (error: unknown): string =>
  error instanceof TypeError ? `no response (${codeOf(error)})` : classify(error).detail

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const fromSettings = ({ authorizationUrl, tokenUrl }: OAuthSettings) => ({
  response_types_supported: ["code"],
  ...defined({
    authorization_endpoint: authorizationUrl && reveal(authorizationUrl),
    token_endpoint: tokenUrl && reveal(tokenUrl),
    registration_endpoint: undefined as string | undefined
  })
})

/** The issuer of configured endpoints without metadata. */
const expectedIssuer = ({ authorizationUrl, issuer, tokenUrl }: OAuthSettings): string | undefined => {
  if (issuer !== undefined) return reveal(issuer)
  const url = authorizationUrl ?? tokenUrl
  return url === undefined || !URL.canParse(reveal(url)) ? undefined : new URL(reveal(url)).origin
}

const assertIssuer = ({ issuer }: OAuthSettings, found: string): void => {
  if (issuer === undefined || isSameIssuer(reveal(issuer), found)) return
  const detail = `the server names another authorization server than "oauth": { "issuer": … } of its config`
  throw refused("issuer_mismatch", detail)
}

/** The resource as the metadata spells it: some authorization servers compare it literally. */
const resourceOf = (serverUrl: string, resourceMetadata: OAuthProtectedResourceMetadata | undefined) => {
  if (resourceMetadata === undefined) return undefined
  const { resource } = resourceMetadata
  const requestedResource = resourceUrlFromServerUrl(serverUrl)
  if (checkResourceAllowed({ requestedResource, configuredResource: resource })) return resource
  throw refused("resource_mismatch", "the server describes itself under another address than the one in its config")
}
