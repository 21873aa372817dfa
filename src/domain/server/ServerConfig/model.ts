/**
 * One server's settings in the one form everything works with: every default filled in, durations in milliseconds, secrets
 * redacted. What has no default is absent, what has no limit is `Infinity`, what is switched off is `false`.
 */
import * as Schema from "effect/Schema"
import { RestartPolicy } from "../RestartPolicy.js"
import { reveal } from "../../Secrets.js"

const Secret = Schema.RedactedFromSelf(Schema.String)

/** Plain unless somebody gave it redacted or it has a secret in it, which makes no difference to what it says. */
const Text = Schema.Union(Schema.String, Secret).annotations({
  equivalence: () => (a, b) => reveal(a) === reveal(b)
})

/** The last match wins: the same patterns in another order are another filter. */
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
  /** Bytes that all lists together may have. */
  listBudget: Schema.Int.pipe(Schema.positive()),
  timeout: Schema.Struct({ connect: Millis, list: Millis, call: Millis, total: Millis }),
  health: Schema.Union(Schema.Literal(false), Schema.Struct({ interval: Millis, timeout: Millis })),
  restart: RestartPolicy,
  /** Absent is never. */
  idleStop: Schema.optionalWith(Millis, { exact: true }),
  tools: Globs,
  /** Absent is the working directory. */
  roots: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
  /** Texts to hide besides those that are secret by where they stand. */
  secrets: Schema.Array(Secret)
}

/** What both kinds of servers have. */
export const Common = Schema.Struct(common)

export type Common = typeof Common.Type

/**
 * A server that is a process of ours.
 *
 * @since 0.1.0
 * @category models
 */
export const Local = Schema.TaggedStruct("Local", {
  command: Text,
  args: Schema.Array(Text),
  environment: Schema.Record({ key: Schema.String, value: Secret }),
  inheritEnv: Schema.Boolean,
  /** Absent is the working directory of our own process. */
  cwd: Schema.optionalWith(Schema.String, { exact: true }),
  ...common
}).annotations({ identifier: "Local" })

/**
 * @since 0.1.0
 * @category models
 */
export type Local = typeof Local.Type

/**
 * How to log in where it cannot be found out automatically.
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
  /** How the authorization server names itself. Absent is what it publishes, else the origin of its addresses. */
  issuer: Schema.optionalWith(Text, { exact: true }),
  /** Whether a login begins although the metadata does not mention PKCE. Absent is false. */
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
  /** `false` is never. */
  oauth: Schema.Union(Schema.Literal(false), OAuthSettings),
  /** Whether the server's OAuth metadata may name addresses of this machine and of private networks. */
  privateNetwork: Schema.Boolean,
  /** Absent is what the system trusts. */
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
