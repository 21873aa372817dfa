/**
 * What is kept of a login: one record for a server's name and address. Tokens belong to that address and to the authorization
 * server that gave them, and go nowhere else.
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
  /** Epoch milliseconds. Absent where the authorization server does not tell. */
  expiresAt: optional(Schema.Finite),
  /** What it allows, as far as the authorization server told. */
  scope: optional(Schema.String),
  /** The authorization server said that the refresh token is of no more use: it is not sent again. */
  refused: optional(Schema.Boolean)
}).annotations({ identifier: "Tokens" })

/**
 * @since 0.1.0
 * @category models
 */
export type Tokens = typeof Tokens.Type

/**
 * Who we are to an authorization server.
 *
 * @since 0.1.0
 * @category models
 */
export const ClientInfo = Schema.Struct({
  clientId: Schema.String,
  clientSecret: optional(Schema.String),
  /** Epoch milliseconds; absent is never. */
  clientSecretExpiresAt: optional(Schema.Finite),
  /** How we prove it at the token endpoint, where the registration says so. */
  authMethod: optional(Schema.String),
  /** Where it may send people back to, as we registered it. */
  redirectUri: optional(Schema.String),
  /** Whether we registered by ourselves, and may do so again. */
  registered: Schema.Boolean,
  /** The last login with it did not come back: perhaps nobody knows it any more. */
  doubtful: optional(Schema.Boolean)
}).annotations({ identifier: "ClientInfo" })

/**
 * @since 0.1.0
 * @category models
 */
export type ClientInfo = typeof ClientInfo.Type

/**
 * What was found out about where to log in, in the words of the documents it was found in.
 *
 * @since 0.1.0
 * @category models
 */
export const Discovery = Schema.Struct({
  /** The authorization server's own name for itself, or its address where it has none. */
  issuer: Schema.String,
  authorizationServerUrl: Schema.String,
  /** The document the server publishes about itself. */
  resourceMetadata: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** The document the authorization server publishes about itself. */
  metadata: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** What tokens are asked for, where the server names itself. */
  resource: optional(Schema.String)
}).annotations({ identifier: "Discovery" })

/**
 * @since 0.1.0
 * @category models
 */
export type Discovery = typeof Discovery.Type

/**
 * A login that was begun: enough to finish it, also in another process.
 *
 * @since 0.1.0
 * @category models
 */
export const Pending = Schema.Struct({
  oauthState: Schema.String,
  codeVerifier: Schema.String,
  redirectUri: Schema.String,
  scope: optional(Schema.String),
  issuer: Schema.String,
  clientInfo: ClientInfo,
  discovery: Discovery,
  /** Epoch milliseconds. */
  startedAt: Schema.Finite
}).annotations({ identifier: "Pending" })

/**
 * @since 0.1.0
 * @category models
 */
export type Pending = typeof Pending.Type

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
  /** Beside what there is, so that nothing is lost if it comes to nothing. */
  login: optional(Pending)
}).annotations({ identifier: "Credential" })

/**
 * @since 0.1.0
 * @category models
 */
export type Credential = typeof Credential.Type
