/**
 * One server's entry as people write it, in both spellings: ours (and opencode's), and that of `mcpServers` files.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { isText, reveal, type Text } from "../Secrets.js"
import { defaults } from "./defaults.js"

/** A key that may be left out, with the words an editor shows for it. */
export const key = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optional(schema).annotations({ description })

/** Texts that hold a secret may be given redacted. */
const TextInput = Schema.declare(
  // no system takes a NUL in an argument, a variable or a URL
  (value): value is Text => isText(value) && !reveal(value).includes("\0"),
  { identifier: "Text", description: "a string", jsonSchema: { type: "string" } }
)

const TextRecord = Schema.Record({ key: Schema.String, value: TextInput }).annotations({
  description: "an object of strings"
})

/** Not a number where it is no duration. */
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
      `From the start of the attempt until the catalog is fetched. Default ${defaults.timeout.connect}.`
    ),
    list: key(Millis, `For one list of tools, resources or prompts. Default ${defaults.timeout.list}.`),
    call: key(Millis, `For a call without a sign of progress. Default ${defaults.timeout.call}.`),
    total: key(Millis, `For a call in all. Default ${defaults.timeout.total}, or "call" where that is longer.`)
  })
)

/**
 * @since 0.1.0
 * @category inputs
 */
export const Restart = Schema.Struct({
  base: key(
    Millis,
    `Upper bound of the second delay; the first restart is immediate. Default ${defaults.restart.base}.`
  ),
  factor: key(Factor, `Growth of the bound. Default ${defaults.restart.factor}.`),
  cap: key(Millis, `No delay is longer. Default ${defaults.restart.cap}.`),
  stableAfter: key(Millis, `Uptime after which failures are forgotten. Default ${defaults.restart.stableAfter}.`),
  maxRestarts: key(
    Schema.Union(Count, Schema.Literal("none")),
    `More restarts than this within "window" and the server is given up. Default ${defaults.maxRestarts.local} (local), "none" (remote).`
  ),
  window: key(Millis, `The time over which restarts are counted. Default ${defaults.restart.window}.`),
  cooldown: key(
    Millis,
    `A server that was given up is tried once more after this. Default ${defaults.restart.cooldown}.`
  )
})

/**
 * @since 0.1.0
 * @category inputs
 */
export const Health = Schema.Union(
  Schema.Boolean,
  Schema.Struct({
    interval: key(Millis, `Pause between two checks of an idle connection. Default ${defaults.health.interval}.`),
    timeout: key(Millis, `How long an answer may take. Default ${defaults.health.timeout}.`)
  })
)

/**
 * @since 0.1.0
 * @category inputs
 */
export const OAuth = Schema.Union(
  Schema.Boolean,
  Schema.Struct({
    clientId: key(TextInput, "The id of a client that was registered by hand."),
    clientSecret: key(TextInput, "Its secret."),
    scope: key(Name, "What to ask for, separated by spaces."),
    redirectUri: key(
      HttpUrl,
      "Where the browser comes back to. Default http://127.0.0.1:<callbackPort>/mcp/oauth/callback."
    ),
    callbackPort: key(Port, `The port of the callback listener. Default ${defaults.callbackPort}.`),
    clientMetadataUrl: key(HttpUrl, "A client ID metadata document."),
    authorizationUrl: key(
      HttpUrl,
      "The login page, for servers that publish no metadata. Beside a secret or a key, it is used whatever is published."
    ),
    tokenUrl: key(
      HttpUrl,
      "The token endpoint, for servers that publish no metadata. Beside a secret or a key, it is used whatever is published."
    ),
    issuer: key(
      HttpUrl,
      'The issuer identifier of the authorization server; any other is rejected. Default: the published one, else the origin of "authorizationUrl".'
    ),
    assumePkce: key(
      Schema.Boolean,
      "Log in although the published metadata does not mention PKCE with S256. Default false."
    ),
    grant: key(
      Schema.Literal("authorization_code", "client_credentials"),
      'How a token is got: by a person, or by the client itself. Default "authorization_code".'
    ),
    privateKeyPem: key(TextInput, "The key of a client that signs its requests."),
    alg: key(Name, "The algorithm that it signs with. Default: the usual one for the key.")
  })
)

/** Keys of both kinds that `defaults` may set for all servers. */
const shared = {
  timeout: key(Timeout, "Limits for connecting, listing and calling: one duration, or one for each."),
  restart: key(Restart, "When a server that went away is started again."),
  health: key(Health, "How an idle connection is checked, or false."),
  protocol: key(Schema.Literal("auto", "legacy", "2026-07-28"), 'The protocol revision. Default "auto".'),
  inheritEnv: key(Schema.Boolean, "Local: hand on the whole environment instead of an allow-list. Default false."),
  lazy: key(Schema.Boolean, "Start with the first call. Default false."),
  idleStop: key(Millis, "A lazy server rests after this long without use. Default: never."),
  concurrency: key(PositiveCount, "Calls at once; more wait in a queue. Default: no limit."),
  replace: key(
    Schema.Literal("overlap", "stop-first"),
    'Whether a changed server starts beside the old one. Default "overlap", "stop-first" for exclusive ones.'
  ),
  catalogTtl: key(Millis, `Lists are fetched again after this. Default ${defaults.catalogTtl}.`),
  listBudget: key(
    PositiveCount,
    `Bytes that all lists of the server may have together, with 32 for each value and key; a server that sends more fails. Default ${defaults.listBudget}.`
  )
}

/** The same of remote servers only. */
const sharedRemote = {
  privateNetwork: key(
    Schema.Boolean,
    "The server's OAuth metadata may point to loopback or private addresses. Default false."
  )
}

const common = {
  ...shared,
  enabled: key(Schema.Boolean, "Whether the server runs. Default true."),
  disabled: key(Schema.Boolean, 'The opposite of "enabled", as some clients spell it.'),
  required: key(Schema.Boolean, "The server must connect. Default false."),
  exclusive: key(Schema.Boolean, "Callers never share an instance. Default false."),
  tools: key(
    Schema.Record({ key: Schema.String, value: Schema.Boolean }).annotations({
      description: "an object of patterns and booleans"
    }),
    "Patterns on the server's own tool names: true offers, false hides, the last match wins."
  ),
  roots: key(Schema.Array(Name), "Directories the server is told about. Default: the working directory."),
  secrets: key(Schema.Array(TextInput), "Further texts to hide wherever they appear.")
}

const isProgram = (text: Text): boolean => reveal(text).trim() !== ""

const Command = Schema.Union(
  TextInput.pipe(Schema.filter(isProgram)),
  Schema.Array(TextInput)
    .pipe(Schema.filter(([program]) => program !== undefined && isProgram(program)))
    .annotations({ jsonSchema: { type: "array", minItems: 1, items: { type: "string" } } })
).annotations({ description: "a program, or an array of a program and its arguments" })

/**
 * A server that is a process of ours.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Local = Schema.Struct({
  type: key(Schema.Literal("local", "stdio"), "A server that is started as a process."),
  command: Schema.propertySignature(Command).annotations({ description: "The program, or program and arguments." }),
  args: key(Schema.Array(TextInput), "Further arguments."),
  environment: key(TextRecord, "Environment variables of the process."),
  env: key(TextRecord, 'The same as "environment".'),
  cwd: key(Name, "Working directory of the process. Default: depends on the layer that sets the command."),
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
    Schema.Literal("remote", "http", "streamable-http", "sse"),
    'A server that is reached over HTTP. "remote" tries streamable HTTP, then SSE; the others do not fall back.'
  ),
  url: Schema.propertySignature(HttpUrl).annotations({ description: "The address of its MCP endpoint." }),
  headers: key(Headers, "Headers sent with every request."),
  oauth: key(OAuth, "Login: automatic unless false; an object for what cannot be found out automatically."),
  caFile: key(Name, "A file with the certificate authorities to trust for this server."),
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
  enabled: Schema.propertySignature(Schema.Boolean).annotations({ description: "On or off." })
}).annotations({ identifier: "Switch" })

/**
 * Settings for all servers that do not say otherwise.
 *
 * @since 0.1.0
 * @category inputs
 */
export const Defaults = Schema.Struct({ ...shared, ...sharedRemote }).annotations({ identifier: "Defaults" })

/**
 * Whether an entry only switches a server of a lower layer: it says that it is on or off and nothing of what it is. Something
 * else beside it is worth a warning, but where it says "on" it is more likely a mistake.
 */
export const isSwitch = (input: unknown): input is Record<string, unknown> =>
  Predicate.isRecord(input) &&
  !("type" in input || "command" in input || "url" in input) &&
  (input.enabled === false || (input.enabled === true && Object.keys(input).length === 1))
