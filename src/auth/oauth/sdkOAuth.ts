/**
 * Requests to authorization servers with the functions of the SDK. The callers decide which are sent, when and how
 * often.
 */
import { createPrivateKey } from "node:crypto"
import {
  type AddClientAuthentication,
  type AuthorizationServerMetadata,
  createPrivateKeyJwtAuth,
  exchangeAuthorization,
  type FetchLike,
  fetchToken,
  type OAuthClientInformationMixed,
  type OAuthTokens,
  refreshAuthorization,
  registerClient,
  RegistrationRejectedError,
  startAuthorization,
  validateClientMetadataUrl
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { defined } from "../../domain/internal/defined.js"
import { isLoopback } from "../../domain/NetworkAddress.js"
import { reveal } from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { ClientInfo, Discovery, PendingLogin } from "../tokens/Credential.js"
import { assertFixed, isFromIssuer } from "./endpoints.js"
import { tokenFetch } from "../tokens/tokenFetch.js"
import { classify, classifyRefresh, OAuthFailure, refused } from "./OAuthFailure.js"

export { checkLogin, endpointsOf } from "./endpoints.js"
export { ofCode } from "./OAuthFailure.js"
export { discover, requestChallenge } from "./sdkDiscovery.js"

/** The server names another authorization server than the one of the login. */
export const otherIssuer = refused(
  "issuer_mismatch",
  "the server now names another authorization server; log in to confirm it"
)

/** A granted token, with its lifetime instead of a time of expiry. */
export interface Granted {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  /** Seconds. */
  readonly expiresIn?: number | undefined
  readonly scope?: string | undefined
}

const attempt = <A>(run: () => Promise<A>, toFailure = classify): Effect.Effect<A, OAuthFailure> =>
  Effect.tryPromise({ try: run, catch: toFailure })

// --- clients ----------------------------------------------------------------------------------------------------------

const metadataOf = ({ metadata }: Discovery) =>
  metadata === undefined ? {} : { metadata: metadata as unknown as AuthorizationServerMetadata }

/** Whether the authorization server accepts the URL of a metadata document as client id. */
export const supportsMetadataUrl = ({ metadata }: Discovery): boolean =>
  metadata?.client_id_metadata_document_supported === true

/** Whether clients can be registered. Without metadata, the endpoint may exist at its default path. */
export const supportsRegistration = ({ metadata }: Discovery): boolean =>
  metadata === undefined || metadata.registration_endpoint !== undefined

export const checkMetadataUrl = (url: string): Effect.Effect<void, OAuthFailure> =>
  Effect.try({
    try: () => validateClientMetadataUrl(url),
    catch: () => refused("invalid_client_metadata", `"clientMetadataUrl" has to be an https address with a path`)
  })

export const register = (
  fetch: FetchLike,
  discovery: Discovery,
  options: { readonly clientName: string; readonly redirectUri: string; readonly scope?: string | undefined }
): Effect.Effect<ClientInfo, OAuthFailure> =>
  attempt(async () => {
    const { clientName, redirectUri, scope } = options
    const full = await registerClient(discovery.authorizationServerUrl, {
      ...metadataOf(discovery),
      ...defined({ scope }),
      clientMetadata: {
        client_name: clientName,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: methodFor(discovery),
        application_type: isNative(redirectUri) ? "native" : "web"
      },
      fetchFn: fetch
    }).catch((error) => {
      // Without metadata, the server itself is asked to register the client, and may not know the path.
      const isUnpublished = discovery.metadata === undefined && error instanceof RegistrationRejectedError
      throw isUnpublished && error.status === 404 ? noLogin : error
    })
    const expires = full.client_secret_expires_at
    return {
      clientId: full.client_id,
      redirectUri,
      registered: true,
      ...defined({
        clientSecret: full.client_secret,
        clientSecretExpiresAt: expires === undefined || expires === 0 ? undefined : expires * 1000,
        authMethod: full.token_endpoint_auth_method
      })
    }
  })

const noLogin = new OAuthFailure({
  kind: "absent",
  reason: "no_login",
  detail: "the server requires credentials, but offers no login"
})

/** Prefers `none`: a client secret would be stored no more safely than the token. */
const methodFor = ({ metadata }: Discovery): string => {
  const offered = metadata?.token_endpoint_auth_methods_supported
  if (!Array.isArray(offered) || offered.includes("none")) return "none"
  return ["client_secret_basic", "client_secret_post"].find((method) => offered.includes(method)) ?? "none"
}

const isNative = (uri: string): boolean => !/^https?:/.test(uri) || isLoopback(new URL(uri).hostname)

const informationOf = ({ authMethod, clientId, clientSecret }: ClientInfo): OAuthClientInformationMixed => ({
  client_id: clientId,
  ...defined({ client_secret: clientSecret, token_endpoint_auth_method: authMethod })
})

/** Signs requests with the private key of the client, if there is one. */
const proofOf = (settings: OAuthSettings, { clientId }: ClientInfo): AddClientAuthentication | undefined => {
  if (settings.privateKeyPem === undefined) return undefined
  const privateKey = reveal(settings.privateKeyPem)
  const alg = settings.alg ?? algorithmOf(privateKey)
  const sign = createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey, alg })
  return async (...request) => {
    try {
      await sign(...request)
    } catch {
      throw refused("invalid_key", `"privateKeyPem" cannot be used to sign with ${alg}`)
    }
  }
}

/** The default algorithm for a key of this type. */
const algorithmOf = (pem: string): string => {
  try {
    const { asymmetricKeyDetails, asymmetricKeyType } = createPrivateKey(pem)
    if (asymmetricKeyType === "rsa") return "RS256"
    if (asymmetricKeyType === "ed25519") return "EdDSA"
    return (
      { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" }[asymmetricKeyDetails?.namedCurve ?? ""] ?? "ES256"
    )
  } catch {
    throw refused("invalid_key", `"privateKeyPem" is not a private key in PEM (PKCS#8)`)
  }
}

const authenticated = (settings: OAuthSettings, client: ClientInfo, discovery: Discovery) => {
  assertFixed(settings, discovery)
  return {
    ...metadataOf(discovery),
    clientInformation: informationOf(client),
    ...defined({ resource: discovery.resource, addClientAuthentication: proofOf(settings, client) })
  }
}

// --- logging in -----------------------------------------------------------------------------------------------------

/** Starts a login. The endpoints have to be checked before. */
export const begin = (
  discovery: Discovery,
  options: {
    readonly client: ClientInfo
    readonly redirectUri: string
    readonly state: string
    readonly scope?: string | undefined
  }
): Effect.Effect<{ readonly authorizationUrl: string; readonly codeVerifier: string }, OAuthFailure> =>
  attempt(async () => {
    const { client, redirectUri, scope, state } = options
    // The SDK would check PKCE once more, and does not know "assumePkce".
    const { code_challenge_methods_supported: _, ...rest } = discovery.metadata ?? {}
    const { authorizationUrl, codeVerifier } = await startAuthorization(discovery.authorizationServerUrl, {
      ...metadataOf(discovery.metadata === undefined ? discovery : { ...discovery, metadata: rest }),
      clientInformation: informationOf(client),
      redirectUrl: redirectUri,
      state,
      ...defined({ scope, resource: discovery.resource })
    })
    return { authorizationUrl: authorizationUrl.href, codeVerifier }
  })

/** Checks that a callback comes from the authorization server of the login. */
export const checkIssuer = (pending: PendingLogin, values: ReadonlyArray<string>): Effect.Effect<void, OAuthFailure> =>
  isFromIssuer(pending, values) ? Effect.void : otherSender

const otherSender = refused(
  "issuer_mismatch",
  `the callback is not from the authorization server of the login, so its code was not used; if the issuer of that server differs from its address, set "oauth": { "issuer": … }`
)

export const exchange = (
  fetch: FetchLike,
  settings: OAuthSettings,
  { clientInfo, codeVerifier, discovery, redirectUri }: PendingLogin,
  code: string
): Effect.Effect<Granted, OAuthFailure> =>
  attempt(async () =>
    granted(
      await exchangeAuthorization(discovery.authorizationServerUrl, {
        ...authenticated(settings, clientInfo, discovery),
        authorizationCode: code,
        codeVerifier,
        redirectUri,
        // Checked before; the SDK checks it once more.
        ...defined({ iss: discovery.metadata?.issuer as string | undefined }),
        fetchFn: tokenFetch(fetch)
      })
    )
  )

export const refresh = (
  fetch: FetchLike,
  settings: OAuthSettings,
  client: ClientInfo,
  discovery: Discovery,
  refreshToken: string
): Effect.Effect<Granted, OAuthFailure> =>
  attempt(
    async () =>
      granted(
        await refreshAuthorization(discovery.authorizationServerUrl, {
          ...authenticated(settings, client, discovery),
          refreshToken,
          fetchFn: tokenFetch(fetch)
        })
      ),
    classifyRefresh
  )

/** Requests a token with the grant `client_credentials`, without a person. */
export const requestClientToken = (
  fetch: FetchLike,
  settings: OAuthSettings,
  client: ClientInfo,
  discovery: Discovery,
  scope: string | undefined
): Effect.Effect<Granted, OAuthFailure> =>
  attempt(async () => {
    const { addClientAuthentication, clientInformation, metadata, resource } = authenticated(
      settings,
      client,
      discovery
    )
    const nothing = () => {}
    const provider = {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [] },
      clientInformation: () => ({ ...clientInformation, issuer: metadata?.issuer ?? discovery.authorizationServerUrl }),
      tokens: nothing as () => undefined,
      saveTokens: nothing,
      redirectToAuthorization: nothing,
      saveCodeVerifier: nothing,
      codeVerifier: () => "",
      prepareTokenRequest: () =>
        new URLSearchParams({ grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) }),
      ...defined({ addClientAuthentication })
    }
    const options = { ...defined({ metadata, resource }), fetchFn: tokenFetch(fetch) }
    return granted(await fetchToken(provider, discovery.authorizationServerUrl, options))
  })

const granted = ({ access_token, expires_in, refresh_token, scope }: OAuthTokens): Granted => {
  // Other characters are not allowed in a header.
  if (!/^[\x21-\x7e]+$/.test(access_token)) throw new Error("no token")
  return { accessToken: access_token, refreshToken: refresh_token, expiresIn: expires_in, scope }
}
