/**
 * Converts a valid entry to a `ServerConfig`: one spelling, all defaults filled in, secrets redacted.
 */
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import { defined } from "../../internal/defined.js"
import { isText, minLength, reveal, type Text } from "../../Secrets.js"
import { defaults as builtIn } from "./defaults.js"
import * as Input from "./Input.js"
import type { Common, Local, OAuthSettings, Remote } from "./model.js"
import { serverTypes } from "./serverTypes.js"

type DecodedDefaults = typeof Input.Defaults.Type
type CommonInput = Omit<typeof Input.Remote.Type, "type" | "url" | "headers" | "oauth" | "caFile" | "privateNetwork">

export const toLocal = (input: typeof Input.Local.Type, defaults: DecodedDefaults): Local => {
  const conceal = redactWith(input.secrets)
  const words = isText(input.command) ? [input.command] : input.command
  // the schema guarantees that there is a program
  const [command, ...args] = words as readonly [Text, ...ReadonlyArray<Text>]
  return {
    _tag: "Local",
    command: conceal(command),
    args: [...args, ...(input.args ?? [])].map(conceal),
    environment: Record.map({ ...input.env, ...input.environment }, redact),
    inheritEnv: input.inheritEnv ?? defaults.inheritEnv ?? false,
    ...defined({ cwd: input.cwd }),
    ...toCommon(input, defaults, builtIn.maxRestarts.local)
  }
}

export const toRemote = (input: typeof Input.Remote.Type, defaults: DecodedDefaults): Remote => ({
  _tag: "Remote",
  transport: serverTypes[input.type ?? "remote"].transport,
  url: redactWith(input.secrets)(input.url),
  headers: Record.map(input.headers ?? {}, redact),
  oauth: toOAuth(input.oauth ?? true, redactWith(input.secrets)),
  privateNetwork: input.privateNetwork ?? defaults.privateNetwork ?? false,
  ...defined({ caFile: input.caFile }),
  ...toCommon(input, defaults, builtIn.maxRestarts.remote)
})

const toOAuth = (input: typeof Input.OAuth.Type, conceal: (text: Text) => Text): OAuthSettings | false => {
  if (input === false) return false
  const { alg, assumePkce, callbackPort, clientSecret, grant, privateKeyPem, scope, ...texts } =
    input === true ? {} : input
  return {
    callbackPort: callbackPort ?? builtIn.callbackPort,
    grant: grant ?? "authorization_code",
    ...Record.map(defined(texts) as Record<string, Text>, conceal),
    ...Record.map(defined({ clientSecret, privateKeyPem }) as Record<string, Text>, redact),
    ...defined({ alg, assumePkce, scope })
  }
}

const toCommon = (input: CommonInput, defaults: DecodedDefaults, maxRestarts: number): Common => {
  const restart = { ...defined(defaults.restart ?? {}), ...defined(input.restart ?? {}) }
  const exclusive = input.exclusive ?? false
  const idleStop = input.idleStop ?? defaults.idleStop
  return {
    enabled: input.enabled ?? !(input.disabled ?? false),
    required: input.required ?? false,
    lazy: input.lazy ?? defaults.lazy ?? false,
    exclusive,
    protocol: input.protocol ?? defaults.protocol ?? "auto",
    replace: input.replace ?? (exclusive ? "stop-first" : (defaults.replace ?? "overlap")),
    concurrency: input.concurrency ?? defaults.concurrency ?? builtIn.concurrency,
    catalogTtl: Input.toMillis(input.catalogTtl ?? defaults.catalogTtl ?? builtIn.catalogTtl),
    listBudget: input.listBudget ?? defaults.listBudget ?? builtIn.listBudget,
    timeout: toTimeout(input.timeout, defaults.timeout),
    health: toHealth(input.health, defaults.health),
    restart: {
      base: Input.toMillis(restart.base ?? builtIn.restart.base),
      factor: restart.factor ?? builtIn.restart.factor,
      cap: Input.toMillis(restart.cap ?? builtIn.restart.cap),
      stableAfter: Input.toMillis(restart.stableAfter ?? builtIn.restart.stableAfter),
      maxRestarts: restart.maxRestarts === "none" ? Number.POSITIVE_INFINITY : (restart.maxRestarts ?? maxRestarts),
      window: Input.toMillis(restart.window ?? builtIn.restart.window),
      cooldown: Input.toMillis(restart.cooldown ?? builtIn.restart.cooldown)
    },
    tools: input.tools ?? {},
    secrets: (input.secrets ?? []).map(redact),
    ...defined({ idleStop: idleStop === undefined ? undefined : Input.toMillis(idleStop), roots: input.roots })
  }
}

type TimeoutInput = typeof Input.Timeout.Type

const toTimeout = (input: TimeoutInput = {}, defaults: TimeoutInput = {}): Common["timeout"] => {
  const limits = { ...limitsOf(defaults), ...limitsOf(input) }
  const call = Input.toMillis(limits.call ?? builtIn.timeout.call)
  return {
    connect: Input.toMillis(limits.connect ?? builtIn.timeout.connect),
    list: Input.toMillis(limits.list ?? builtIn.timeout.list),
    call,
    // a call that may be silent for an hour must not end after half an hour in all
    total: limits.total === undefined ? Math.max(builtIn.timeout.total, call) : Input.toMillis(limits.total)
  }
}

/**
 * Expands a single duration to the limits for connecting, listing and the silence of a call. It does not limit the total time
 * of a call.
 */
const limitsOf = (input: TimeoutInput): Exclude<TimeoutInput, string | number> =>
  typeof input === "object" ? defined(input) : { connect: input, list: input, call: input }

type HealthInput = typeof Input.Health.Type

const toHealth = (input: HealthInput | undefined, defaults: HealthInput = true): Common["health"] => {
  if ((input ?? defaults) === false) return false
  const { interval = builtIn.health.interval, timeout = builtIn.health.timeout } = {
    ...details(defaults),
    ...details(input)
  }
  return { interval: Input.toMillis(interval), timeout: Input.toMillis(timeout) }
}

const details = (input: HealthInput | undefined): Exclude<HealthInput, boolean> =>
  typeof input === "object" ? defined(input) : {}

const redact = (text: Text): Redacted.Redacted<string> => (typeof text === "string" ? Redacted.make(text) : text)

/** Redacts a text that contains one of these secrets. */
const redactWith = (secrets: ReadonlyArray<Text> = []): ((text: Text) => Text) => {
  const known = secrets.map(reveal).filter((secret) => secret.length >= minLength)
  return (text) => (known.some((secret) => reveal(text).includes(secret)) ? redact(text) : text)
}
