/**
 * Finds the authorization server of a server from the metadata that both publish.
 */
import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  IssuerMismatchError,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { AddressRefused } from "../../connection/http/OutboundGuard.js"
import { defined } from "../../domain/internal/defined.js"
import { reveal } from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { Discovery } from "../tokens/Credential.js"
import { describedBy, type Fixed, fixedBy, isDescriptionOf, isSameIssuer, isWithin } from "./endpoints.js"
import { classify, type OAuthFailure, refused } from "./OAuthFailure.js"

interface Options {
  readonly serverUrl: string
  readonly resourceMetadataUrl?: string | undefined
  readonly settings: OAuthSettings
}

/** The authorization server and its metadata. */
type Found = Pick<Discovery, "authorizationServerUrl" | "issuer"> & { readonly metadata: object | undefined }

/**
 * Finds the authorization server: by the metadata that the server names or publishes, else on the server itself.
 * Configured endpoints apply if nothing is published. Endpoints configured together with a secret always apply.
 */
export const discover = (fetch: FetchLike, options: Options): Effect.Effect<Discovery, OAuthFailure> =>
  Effect.tryPromise({
    try: async () => {
      const { resourceMetadataUrl, serverUrl, settings } = options
      const described = await describeResource(fetch, serverUrl, resourceMetadataUrl)
      const { resourceMetadata } = described
      const fixed = fixedBy(settings)
      const { metadata, ...found } = await (fixed === undefined
        ? findNamed(fetch, options, described)
        : findWithin(fetch, fixed, options, resourceMetadata?.authorization_servers))
      return {
        ...found,
        ...defined({
          resourceMetadata: resourceMetadata as Discovery["resourceMetadata"],
          metadata: metadata as Discovery["metadata"],
          resource: resourceOf(serverUrl, resourceMetadata)
        })
      }
    },
    catch: classify
  })

interface Described {
  readonly resourceMetadata: OAuthProtectedResourceMetadata | undefined
  /** Why the metadata could not be loaded, if it may exist. */
  readonly failure?: Error | undefined
}

const findNamed = async (
  fetch: FetchLike,
  { serverUrl, settings }: Options,
  { failure, resourceMetadata }: Described
): Promise<Found> => {
  const isConfigured = settings.authorizationUrl !== undefined || settings.tokenUrl !== undefined
  const authorizationServerUrl = resourceMetadata?.authorization_servers?.[0] ?? new URL("/", serverUrl).href
  const found = await describeServer(fetch, authorizationServerUrl).catch((error) => {
    if (isConfigured && !(error instanceof IssuerMismatchError)) return undefined
    throw error
  })
  // The metadata that could not be loaded may name another authorization server.
  if (found === undefined && failure !== undefined && !isConfigured) throw failure
  if (found === undefined && isConfigured) {
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
  fixed: Fixed,
  { serverUrl, settings }: Options,
  named: ReadonlyArray<string> | undefined
): Promise<Found> => {
  const url = describedBy(settings, serverUrl, named)
  const described =
    url === undefined
      ? undefined
      : await describeServer(fetch, url).catch((error) => {
          if (fixed.isComplete) return undefined
          throw error
        })
  const found = described !== undefined && isDescriptionOf(fixed, described) ? described : undefined
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

/** Tries the address from the challenge first, then the default places: the address may be wrong. */
const describeResource = async (fetch: FetchLike, serverUrl: string, named: string | undefined): Promise<Described> => {
  let failure: Error | undefined
  for (const resourceMetadataUrl of named === undefined ? [undefined] : [named, undefined]) {
    try {
      const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }
      return { resourceMetadata: await discoverOAuthProtectedResourceMetadata(serverUrl, options, fetch) }
    } catch (error) {
      if (error instanceof TypeError) throw error
      const isOutage = error instanceof Error && /^HTTP 5\d\d /.test(error.message)
      if (isOutage || error instanceof AddressRefused) failure ??= error
    }
  }
  return { failure, resourceMetadata: undefined }
}

const describeServer = (fetch: FetchLike, url: string) =>
  discoverAuthorizationServerMetadata(url, { fetchFn: fetch }).catch((error) => {
    // An origin with and without a trailing slash is the same issuer.
    const isBare = new URL(url).pathname === "/" && !url.endsWith("/")
    if (isBare && error instanceof IssuerMismatchError && error.received === `${url}/`) {
      return discoverAuthorizationServerMetadata(`${url}/`, { fetchFn: fetch })
    }
    throw error
  })

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
