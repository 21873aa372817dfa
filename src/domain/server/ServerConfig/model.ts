/**
 * The normalised settings of one server: all defaults filled in, durations in milliseconds, secrets redacted. A setting without
 * a default is absent, one without a limit is `Infinity`, one that is switched off is `false`.
 */
import * as Schema from "effect/Schema"
import { RestartPolicy } from "../RestartPolicy.js"
import { reveal } from "../../Secrets.js"

const Secret = Schema.RedactedFromSelf(Schema.String)

/** A text, redacted if it was given redacted or contains a secret. Two texts are equal if their plain texts are. */
const Text = Schema.Union(Schema.String, Secret).annotations({
  equivalence: () => (a, b) => reveal(a) === reveal(b)
})

/** The order is compared, too: the last match wins, so another order is another filter. */
const Globs = Schema.Record({ key: Schema.String, value: Schema.Boolean }).annotations({
  equivalence: () => (a, b) => JSON.stringify(Object.entries(a)) === JSON.stringify(Object.entries(b))
})

const Millis = Schema.Finite.pipe(Schema.positive())

const common = {
  enabled: Schema.Boolean,
  required: Schema.Boolean,
  lazy: Schema.Boolean,
  exclusive: Schema.Boolean,
  protocol: Schema.Literal("auto", "legacy", "2026-07-28"),
  replace: Schema.Literal("overlap", "stop-first"),
  /** `Infinity` is no limit. */
  concurrency: Schema.Number.pipe(Schema.positive()),
  catalogTtl: Millis,
  /** The greatest size of all lists together, in bytes. */
  listBudget: Schema.Int.pipe(Schema.positive()),
  timeout: Schema.Struct({ connect: Millis, list: Millis, call: Millis, total: Millis }),
  health: Schema.Union(Schema.Literal(false), Schema.Struct({ interval: Millis, timeout: Millis })),
  restart: RestartPolicy,
  /** If absent, an idle server is never stopped. */
  idleStop: Schema.optionalWith(Millis, { exact: true }),
  tools: Globs,
  /** If absent, the working directory. */
  roots: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
  /** Texts that are hidden in addition to the values of secret keys. */
  secrets: Schema.Array(Secret)
}

/** Settings of local and remote servers. */
export const Common = Schema.Struct(common)

export type Common = typeof Common.Type

/**
 * A server that the supervisor starts as a process.
 *
 * @since 0.1.0
 * @category models
 */
export const Local = Schema.TaggedStruct("Local", {
  command: Text,
  args: Schema.Array(Text),
  environment: Schema.Record({ key: Schema.String, value: Secret }),
  inheritEnv: Schema.Boolean,
  /** If absent, the working directory of this process. */
  cwd: Schema.optionalWith(Schema.String, { exact: true }),
  ...common
}).annotations({ identifier: "Local" })

/**
 * @since 0.1.0
 * @category models
 */
export type Local = typeof Local.Type

/**
 * OAuth settings for what cannot be discovered automatically.
 *
 * @since 0.1.0
 * @category models
 */
export const OAuthSettings = Schema.Struct({
  clientId: Schema.optionalWith(Text, { exact: true }),
  clientSecret: Schema.optionalWith(Secret, { exact: true }),
  scope: Schema.optionalWith(Schema.String, { exact: true }),
  redirectUri: Schema.optionalWith(Text, { exact: true }),
  callbackPort: Schema.Number,
  clientMetadataUrl: Schema.optionalWith(Text, { exact: true }),
  authorizationUrl: Schema.optionalWith(Text, { exact: true }),
  tokenUrl: Schema.optionalWith(Text, { exact: true }),
  grant: Schema.Literal("authorization_code", "client_credentials"),
  privateKeyPem: Schema.optionalWith(Secret, { exact: true }),
  alg: Schema.optionalWith(Schema.String, { exact: true }),
  /** The issuer identifier of the authorization server. If absent, the published one, else the origin of its addresses. */
  issuer: Schema.optionalWith(Text, { exact: true }),
  /** Whether a login starts although the metadata does not mention PKCE. If absent, false. */
  assumePkce: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "OAuthSettings" })

/**
 * @since 0.1.0
 * @category models
 */
export type OAuthSettings = typeof OAuthSettings.Type

/**
 * A server that is reached over HTTP.
 *
 * @since 0.1.0
 * @category models
 */
export const Remote = Schema.TaggedStruct("Remote", {
  /** `auto` tries streamable HTTP, then SSE; the others do not fall back. */
  transport: Schema.Literal("auto", "http", "sse"),
  url: Text,
  headers: Schema.Record({ key: Schema.String, value: Secret }),
  /** `false` disables OAuth. */
  oauth: Schema.Union(Schema.Literal(false), OAuthSettings),
  /** Whether the server's OAuth metadata may name addresses of this machine and of private networks. */
  privateNetwork: Schema.Boolean,
  /** If absent, the certificate authorities of the system. */
  caFile: Schema.optionalWith(Schema.String, { exact: true }),
  ...common
}).annotations({ identifier: "Remote" })

/**
 * @since 0.1.0
 * @category models
 */
export type Remote = typeof Remote.Type

/**
 * @since 0.1.0
 * @category models
 */
export const ServerConfig = Schema.Union(Local, Remote).annotations({ identifier: "ServerConfig" })

/**
 * @since 0.1.0
 * @category models
 */
export type ServerConfig = typeof ServerConfig.Type
