/**
 * Schemas of one server's entry in a config file, in both spellings: native (as in opencode) and `mcpServers`.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { isText, reveal, type Text } from "../../Secrets.js"
import { defaults } from "./defaults.js"
import { typesOf } from "./serverTypes.js"

/** An optional key, with the description that editors show. */
export const key = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optional(schema).annotations({ description })

/** A string, which can be given redacted if it contains a secret. */
const TextInput = Schema.declare(
  // no system accepts a NUL in an argument, a variable or a URL
  (value): value is Text => isText(value) && !reveal(value).includes("\0"),
  { identifier: "Text", description: "a string", jsonSchema: { type: "string" } }
)

const TextRecord = Schema.Record({ key: Schema.String, value: TextInput }).annotations({
  description: "an object of strings"
})

/** Converts a duration to milliseconds. `NaN` if it is invalid. */
export const toMillis = (input: number | string): number => {
  if (typeof input === "number") return input
  if (/^\d+(\.\d+)?$/.test(input)) return Number(input)
  return Option.match(Duration.decodeUnknown(input), { onNone: () => Number.NaN, onSome: Duration.toMillis })
}

/**
 * Milliseconds, or a text such as `30 seconds`. Positive and finite.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Millis = Schema.Union(Schema.Number, Schema.String)
  .pipe(
    Schema.filter((input) => {
      const millis = toMillis(input)
      return Number.isFinite(millis) && millis > 0
    })
  )
  .annotations({
    identifier: "Duration",
    description: 'a positive duration: milliseconds or a text such as "30 seconds"',
    jsonSchema: {
      description: 'Milliseconds, or a text such as "30 seconds".',
      anyOf: [
        { type: "number", exclusiveMinimum: 0 },
        { type: "string", pattern: String.raw`\{(env|file):|\$\{` },
        {
          type: "string",
          pattern: String.raw`^\d+(\.\d+)?(\s+(nanos?|micros?|millis?|seconds?|minutes?|hours?|days?|weeks?))?$`
        }
      ]
    }
  })

const Count = Schema.Number.pipe(Schema.filter((value) => Number.isSafeInteger(value) && value >= 0)).annotations({
  description: "a whole number, 0 or more",
  jsonSchema: { type: "integer", minimum: 0 }
})

const PositiveCount = Schema.Number.pipe(
  Schema.filter((value) => Number.isSafeInteger(value) && value > 0)
).annotations({ description: "a whole number, 1 or more", jsonSchema: { type: "integer", minimum: 1 } })

const Port = Schema.Number.pipe(
  Schema.filter((value) => Number.isInteger(value) && value >= 0 && value <= 65_535)
).annotations({ description: "a port number", jsonSchema: { type: "integer", minimum: 0, maximum: 65_535 } })

const Factor = Schema.Number.pipe(Schema.filter((value) => Number.isFinite(value) && value >= 1)).annotations({
  description: "a number, 1 or more",
  jsonSchema: { type: "number", minimum: 1 }
})

const isHttpUrl = (text: Text): boolean =>
  URL.canParse(reveal(text)) && /^https?:$/.test(new URL(reveal(text)).protocol)

const HttpUrl = TextInput.pipe(Schema.filter(isHttpUrl)).annotations({
  identifier: "HttpUrl",
  description: "an http or https URL",
  jsonSchema: { type: "string" }
})

const isHeaderValue = (value: Text): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(reveal(value))

const HeaderValue = TextInput.pipe(Schema.filter(isHeaderValue)).annotations({
  identifier: "HeaderValue",
  description: "a header value: printable, on one line",
  jsonSchema: { type: "string" }
})

const Headers = Schema.Record({ key: Schema.String, value: HeaderValue }).annotations({
  description: "an object of header names and values"
})

const Name = Schema.NonEmptyString.annotations({ description: "a non-empty string" })

/**
 * @since 0.1.0
 * @category inputs
 */
export const Timeout = Schema.Union(
  Millis,
  Schema.Struct({
    connect: key(
      Millis,
      `Time limit from the start of an attempt until all lists are fetched. Default ${defaults.timeout.connect}.`
    ),
    list: key(
      Millis,
      `Time limit for fetching one list (tools, resources or prompts), all pages. Default ${defaults.timeout.list}.`
    ),
    call: key(
      Millis,
      `Time limit for a call; each progress notification restarts it. Default ${defaults.timeout.call}.`
    ),
    total: key(
      Millis,
      `Time limit for a call, whatever progress it reports. Default ${defaults.timeout.total}, or "call" if that is longer.`
    )
  })
)

/**
 * @since 0.1.0
 * @category inputs
 */
export const Restart = Schema.Struct({
  base: key(
    Millis,
    `Upper bound of the random delay before the second restart; the first restart is immediate. Default ${defaults.restart.base}.`
  ),
  factor: key(
    Factor,
    `Factor by which this upper bound grows with each further failure. Default ${defaults.restart.factor}.`
  ),
  cap: key(Millis, `The upper bound grows no further than this. Default ${defaults.restart.cap}.`),
  stableAfter: key(Millis, `Uptime after which the failure streak is reset. Default ${defaults.restart.stableAfter}.`),
  maxRestarts: key(
    Schema.Union(Count, Schema.Literal("none")),
    `Maximum number of restarts within "window"; instead of one more, the server is failed until "cooldown" has passed. Default ${defaults.maxRestarts.local} (local), "none" (remote).`
  ),
  window: key(Millis, `Period in which restarts are counted. Default ${defaults.restart.window}.`),
  cooldown: key(
    Millis,
    `Time from reaching "maxRestarts" until one more attempt. Default ${defaults.restart.cooldown}.`
  )
})

/**
 * @since 0.1.0
 * @category inputs
 */
export const Health = Schema.Union(
  Schema.Boolean,
  Schema.Struct({
    interval: key(
      Millis,
      `Time between two health checks of an unused connection. Default ${defaults.health.interval}.`
    ),
    timeout: key(Millis, `Time limit for the response to a health check. Default ${defaults.health.timeout}.`)
  })
)

/**
 * @since 0.1.0
 * @category inputs
 */
export const OAuth = Schema.Union(
  Schema.Boolean,
  Schema.Struct({
    clientId: key(TextInput, "The id of a client that is registered with the authorization server."),
    clientSecret: key(TextInput, "The secret of the client."),
    scope: key(Name, "The scopes to request, separated by spaces."),
    redirectUri: key(
      HttpUrl,
      "The redirect URI of the login. Default http://127.0.0.1:<callbackPort>/mcp/oauth/callback."
    ),
    callbackPort: key(Port, `The port of the callback listener. Default ${defaults.callbackPort}.`),
    clientMetadataUrl: key(HttpUrl, "The URL of a client ID metadata document."),
    authorizationUrl: key(
      HttpUrl,
      "The authorization endpoint, for servers that publish no metadata. With a client secret or private key, it is always used."
    ),
    tokenUrl: key(
      HttpUrl,
      "The token endpoint, for servers that publish no metadata. With a client secret or private key, it is always used."
    ),
    issuer: key(
      HttpUrl,
      'The issuer identifier of the authorization server; any other issuer is rejected. Default: the published issuer, or the origin of "authorizationUrl".'
    ),
    assumePkce: key(
      Schema.Boolean,
      "Allow a login even if the published metadata does not list PKCE with S256. Default false."
    ),
    grant: key(
      Schema.Literal("authorization_code", "client_credentials"),
      'The grant type: a login by a person, or the credentials of the client. Default "authorization_code".'
    ),
    privateKeyPem: key(TextInput, "The private key of a client that authenticates with signed assertions, as PEM."),
    alg: key(Name, "The signature algorithm. Default: derived from the key.")
  })
)

/** Keys of local and remote servers that `defaults` can set for all servers. */
const shared = {
  timeout: key(Timeout, "Time limits for connecting, listing and calling: one duration for all three, or an object."),
  restart: key(Restart, "When the supervisor restarts a server whose connection was lost or could not be opened."),
  health: key(Health, "Health checks of unused connections; false disables them."),
  protocol: key(Schema.Literal("auto", "legacy", "2026-07-28"), 'The MCP protocol revision. Default "auto".'),
  inheritEnv: key(
    Schema.Boolean,
    "Whether a local server gets the whole environment instead of an allow-list. Default false."
  ),
  lazy: key(Schema.Boolean, "Start the server with the first call. Default false."),
  idleStop: key(Millis, "Stop a lazy server after this time without use. Default: never."),
  concurrency: key(
    PositiveCount,
    "Maximum number of concurrent calls; further calls wait in a queue. Default: no limit."
  ),
  replace: key(
    Schema.Literal("overlap", "stop-first"),
    'How a server with a changed config is replaced: the new connection is opened before ("overlap") or after ("stop-first") the old one is closed. Default "overlap"; "stop-first" if "exclusive" is set.'
  ),
  catalogTtl: key(
    Millis,
    `Time after which lists are fetched again, unless the server says how long they are valid. Default ${defaults.catalogTtl}.`
  ),
  listBudget: key(
    PositiveCount,
    `Maximum size of all lists of the server together, in bytes, plus 32 for each value and key; a server that sends more fails. Default ${defaults.listBudget}.`
  )
}

/** Keys of remote servers that `defaults` can set for all servers. */
const sharedRemote = {
  privateNetwork: key(
    Schema.Boolean,
    "Allow the OAuth metadata of the server to refer to loopback and private addresses. Default false."
  )
}

const common = {
  ...shared,
  enabled: key(Schema.Boolean, "Whether the server runs. Default true."),
  disabled: key(Schema.Boolean, 'The opposite of "enabled", as other clients spell it.'),
  required: key(
    Schema.Boolean,
    "Whether the library call awaitSettled fails if this server is not usable. Default false."
  ),
  exclusive: key(Schema.Boolean, 'Makes "stop-first" the default of "replace". Default false.'),
  tools: key(
    Schema.Record({ key: Schema.String, value: Schema.Boolean }).annotations({
      description: "an object of patterns and booleans"
    }),
    "Patterns for the server's own tool names: true shows a tool, false hides it; the last match wins."
  ),
  roots: key(Schema.Array(Name), "Directories that the server gets as MCP roots. Default: the working directory."),
  secrets: key(Schema.Array(TextInput), "Further values to hide in all texts.")
}

const isProgram = (text: Text): boolean => reveal(text).trim() !== ""

const Command = Schema.Union(
  TextInput.pipe(Schema.filter(isProgram)),
  Schema.Array(TextInput)
    .pipe(Schema.filter(([program]) => program !== undefined && isProgram(program)))
    .annotations({ jsonSchema: { type: "array", minItems: 1, items: { type: "string" } } })
).annotations({ description: "a program, or an array of a program and its arguments" })

/**
 * A server that the supervisor starts as a process.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Local = Schema.Struct({
  type: key(Schema.Literal(...typesOf("local")), "A local server, run as a process."),
  command: Schema.propertySignature(Command).annotations({
    description: "The program, or an array of the program and its arguments."
  }),
  args: key(Schema.Array(TextInput), "Further arguments of the program."),
  environment: key(TextRecord, "Environment variables of the process."),
  env: key(TextRecord, 'Another spelling of "environment".'),
  cwd: key(Name, "The working directory of the process. Default: depends on the layer that sets the command."),
  ...common
}).annotations({ identifier: "LocalServer" })

/**
 * A server that is reached over HTTP.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Remote = Schema.Struct({
  type: key(
    Schema.Literal(...typesOf("remote")),
    'A remote server, reached over HTTP. "remote" tries streamable HTTP, then SSE; the other types do not fall back.'
  ),
  url: Schema.propertySignature(HttpUrl).annotations({ description: "The URL of the MCP endpoint." }),
  headers: key(Headers, "Headers of every request to the server."),
  oauth: key(
    OAuth,
    "Settings for OAuth, which is automatic by default; false disables it; an object sets what cannot be discovered."
  ),
  caFile: key(Name, "A PEM file with further certificate authorities to trust for this server."),
  ...sharedRemote,
  ...common
}).annotations({ identifier: "RemoteServer" })

/**
 * An entry that only switches a server of a lower layer on or off.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Switch = Schema.Struct({
  enabled: Schema.propertySignature(Schema.Boolean).annotations({ description: "Whether the server runs." })
}).annotations({ identifier: "Switch" })

/**
 * Settings for all servers, used where an entry omits the key.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Defaults = Schema.Struct({ ...shared, ...sharedRemote }).annotations({ identifier: "Defaults" })

/**
 * Whether an entry only enables or disables a server of a lower layer, and does not define it. With `enabled: false`, other
 * keys are allowed and cause a warning; with `enabled: true` they are more likely a mistake.
 */
export const isSwitch = (input: unknown): input is Record<string, unknown> =>
  Predicate.isRecord(input) &&
  !("type" in input || "command" in input || "url" in input) &&
  (input.enabled === false || (input.enabled === true && Object.keys(input).length === 1))
