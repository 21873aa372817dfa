/**
 * Defines the stored credential of a login, one for each server name and URL. Its tokens are sent only to that URL and to
 * the authorization server that issued them.
 */
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * @since 0.1.0
 * @category models
 */
export const Tokens = Schema.Struct({
  accessToken: Schema.String,
  refreshToken: optional(Schema.String),
  /** Epoch milliseconds. Absent if the authorization server does not say when the token expires. */
  expiresAt: optional(Schema.Finite),
  /** The granted scope. Absent if neither the request nor the response named one. */
  scope: optional(Schema.String),
  /** Whether the authorization server has rejected the refresh token. Then it is not sent again. */
  refused: optional(Schema.Boolean)
}).annotations({ identifier: "Tokens" })

/**
 * @since 0.1.0
 * @category models
 */
export type Tokens = typeof Tokens.Type

/**
 * The client as which this program is known to an authorization server.
 *
 * @since 0.1.0
 * @category models
 */
export const ClientInfo = Schema.Struct({
  clientId: Schema.String,
  clientSecret: optional(Schema.String),
  /** Epoch milliseconds. Absent if the secret does not expire. */
  clientSecretExpiresAt: optional(Schema.Finite),
  /** The authentication method for the token endpoint. Absent if the registration did not name one. */
  authMethod: optional(Schema.String),
  /** The registered redirect URI. */
  redirectUri: optional(Schema.String),
  /** Whether the client was registered automatically, so that it can be replaced by another registration. */
  registered: Schema.Boolean,
  /** Whether the last login with this client failed or timed out. Then the next login registers another one. */
  doubtful: optional(Schema.Boolean)
}).annotations({ identifier: "ClientInfo" })

/**
 * @since 0.1.0
 * @category models
 */
export type ClientInfo = typeof ClientInfo.Type

/**
 * The authorization server of a server, with the metadata that both publish.
 *
 * @since 0.1.0
 * @category models
 */
export const Discovery = Schema.Struct({
  /** The issuer of the authorization server; its URL, if it publishes none. */
  issuer: Schema.String,
  authorizationServerUrl: Schema.String,
  /** The metadata of the server. */
  resourceMetadata: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** The metadata of the authorization server. */
  metadata: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** The resource for which tokens are requested. Absent if the server publishes no metadata. */
  resource: optional(Schema.String)
}).annotations({ identifier: "Discovery" })

/**
 * @since 0.1.0
 * @category models
 */
export type Discovery = typeof Discovery.Type

/**
 * A login that waits for its callback. Any process that reads it can complete it.
 *
 * @since 0.1.0
 * @category models
 */
export const PendingLogin = Schema.Struct({
  oauthState: Schema.String,
  codeVerifier: Schema.String,
  redirectUri: Schema.String,
  scope: optional(Schema.String),
  issuer: Schema.String,
  clientInfo: ClientInfo,
  discovery: Discovery,
  /** Epoch milliseconds. */
  startedAt: Schema.Finite
}).annotations({ identifier: "PendingLogin" })

/**
 * @since 0.1.0
 * @category models
 */
export type PendingLogin = typeof PendingLogin.Type

/**
 * @since 0.1.0
 * @category models
 */
export const Credential = Schema.Struct({
  server: Schema.String,
  serverUrl: Schema.String,
  issuer: optional(Schema.String),
  tokens: optional(Tokens),
  clientInfo: optional(ClientInfo),
  discovery: optional(Discovery),
  /** The pending login. The other fields change only when it succeeds. */
  login: optional(PendingLogin)
}).annotations({ identifier: "Credential" })

/**
 * @since 0.1.0
 * @category models
 */
export type Credential = typeof Credential.Type
