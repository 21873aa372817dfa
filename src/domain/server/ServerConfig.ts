/**
 * The settings of one server: as written in a config ({@link Input}) and normalised ({@link ServerConfig}).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { defined } from "../internal/defined.js"
import type { InvalidConfig } from "../Errors/commandErrors.js"
import * as Failure from "./Failure.js"
import type * as Lifecycle from "./Lifecycle.js"
import * as Secrets from "../Secrets.js"
import { defaults } from "./ServerConfig/defaults.js"
import type * as InputSchema from "./ServerConfig/Input.js"
import { type Local, type Remote, ServerConfig } from "./ServerConfig/model.js"

export { compare, type ConfigChange } from "./ServerConfig/configChange.js"
export { decode, type Decoded, decodeDefaults } from "./ServerConfig/decode.js"
export { Local, OAuthSettings, Remote, ServerConfig } from "./ServerConfig/model.js"

/**
 * An entry as written in a config. Texts that contain a secret can be given redacted.
 *
 * @since 0.1.0
 * @category inputs
 */
export type Input =
  | typeof InputSchema.Local.Encoded
  | typeof InputSchema.Remote.Encoded
  | typeof InputSchema.Switch.Encoded

/**
 * Settings for all servers, used where an entry omits the key.
 *
 * @since 0.1.0
 * @category inputs
 */
export type Defaults = typeof InputSchema.Defaults.Encoded

/**
 * Whether two configs are equivalent.
 *
 * @since 0.1.0
 * @category comparing
 */
export const equals: (a: ServerConfig, b: ServerConfig) => boolean = Schema.equivalence(ServerConfig)

/**
 * The part of a config that the lifecycle needs.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toSettings = (
  server: string,
  config: ServerConfig,
  options?: {
    /** Whether the file that declares the server may start it. Defaults to true. */
    readonly trusted?: boolean | undefined
  }
): Lifecycle.Settings => {
  const disabled = options?.trusted === false ? ("trust" as const) : config.enabled ? undefined : ("config" as const)
  return {
    server,
    restart: config.restart,
    lazy: config.lazy,
    replace: config.replace,
    // a call with progress can use its total time, unless the new link has to wait for it
    drain: config.replace === "overlap" ? config.timeout.total : config.timeout.call,
    ...defined({ disabled })
  }
}

/**
 * The lifecycle settings of a server with an invalid config: it is shown as failed, or as disabled if it is disabled, and is
 * never opened.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toInvalidSettings = (server: string, error: InvalidConfig): Lifecycle.Settings => ({
  server,
  restart: defaults.restart,
  lazy: false,
  replace: "overlap",
  drain: defaults.timeout.call,
  invalid: Failure.fromError(error),
  ...defined({ disabled: error.disabled === true ? ("config" as const) : undefined })
})

/**
 * Whether a login is possible: not if it is switched off, nor if the config sets `Authorization` by a header or in the URL.
 *
 * @since 0.1.0
 * @category guards
 */
export const allowsLogin = (config: ServerConfig): boolean => {
  if (config._tag === "Local" || config.oauth === false) return false
  const url = Secrets.reveal(config.url)
  const { password, username } = URL.canParse(url) ? new URL(url) : { password: "", username: "" }
  const names = Object.keys(config.headers).map((name) => name.toLowerCase())
  return `${username}${password}` === "" && !names.includes("authorization")
}

/**
 * The secrets of a config: all environment values, headers and client secrets, all redacted texts, credentials in the URL, and
 * the values of command line flags with a sensitive name.
 *
 * @since 0.1.0
 * @category secrets
 */
export const secrets = (config: ServerConfig): Secrets.Secrets =>
  Secrets.make([...config.secrets, ...(config._tag === "Local" ? localSecrets(config) : remoteSecrets(config))])

const localSecrets = ({ args, command, environment }: Local): ReadonlyArray<Secrets.Text> => [
  ...Object.values(environment),
  ...Secrets.ofArguments([command, ...args])
]

const remoteSecrets = ({ headers, oauth, url }: Remote): ReadonlyArray<Secrets.Text> => [
  ...Object.values(headers),
  ...ofText(url),
  ...(oauth === false
    ? []
    : Object.values(oauth).flatMap((value) =>
        typeof value === "number" || typeof value === "boolean" ? [] : ofText(value)
      ))
]

/** The secrets of a text: all of it if it is redacted, else its credentials if it is a URL. */
const ofText = (text: Secrets.Text): ReadonlyArray<Secrets.Text> =>
  typeof text === "string" ? [...Secrets.ofUrl(text)] : [text]
