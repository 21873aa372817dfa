/**
 * Describes the server that a login is for, from its current config.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AuthError } from "../../domain/Errors.js"
import { type Policy, policyFor } from "../../domain/NetworkAddress.js"
import { reveal } from "../../domain/Secrets.js"
import { allowsLogin, OAuthSettings, type Remote, type ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Credential, Tokens } from "../tokens/Credential.js"
import type { Key } from "../tokens/credentialStorePort.js"
import { type OAuthGrant, grantOf } from "../tokens/Grant.js"

export interface LoginTarget extends Key {
  readonly config: Remote
  readonly settings: OAuthSettings
  readonly grant: OAuthGrant
}

/** Returns `undefined` if the config allows no login, or contains credentials itself. */
export const loginTargetOf = (server: string, config: Remote): LoginTarget | undefined => {
  const key = keyOf(server, config)
  if (config.oauth === false || key === undefined || !allowsLogin(config)) return undefined
  return { ...key, config, settings: config.oauth, grant: grantOf(config.oauth) }
}

/** Fails with the reason why no login to this server is possible, and how to change that. */
export const requireTarget = (
  server: string,
  config: ServerConfig | undefined
): Effect.Effect<LoginTarget, AuthError> => {
  const fail = (reason: string, detail: string) => Effect.fail(new AuthError({ server, reason, detail }))
  if (config === undefined) return fail("invalid_config", "its config is invalid; correct it first")
  if (config._tag === "Local") return fail("not_remote", "it is a local process, which has no login")
  if (config.oauth === false) return fail("oauth_off", `"oauth" is false for this server; remove that to log in`)
  const target = loginTargetOf(server, config)
  if (target !== undefined) return Effect.succeed(target)
  return allowsLogin(config)
    ? fail("invalid_config", `its "url" is not an http or https URL`)
    : fail("header_set", `its config sets the header "Authorization"; remove that to log in`)
}

/** Whether two configs require the same login, although they are different objects. */
export const isSameSettings: (a: OAuthSettings, b: OAuthSettings) => boolean = Schema.equivalence(OAuthSettings)

/** Whether a login that was started for one target is a login for the other. */
export const isSameTarget = (a: LoginTarget, b: LoginTarget): boolean =>
  a.server === b.server &&
  a.serverUrl === b.serverUrl &&
  a.config.caFile === b.config.caFile &&
  a.config.privateNetwork === b.config.privateNetwork &&
  isSameSettings(a.settings, b.settings)

/** The addresses to which requests of a login may be sent. */
export const policyOf = ({ config, serverUrl, settings }: LoginTarget): Policy =>
  policyFor({
    url: serverUrl,
    configured: [settings.authorizationUrl, settings.tokenUrl].filter((url) => url !== undefined).map(reveal),
    privateNetwork: config.privateNetwork
  })

/** The key under which the login of a server is stored, even if its config allows no login now. */
export const keyOf = (server: string, config: ServerConfig | undefined): Key | undefined => {
  const serverUrl = config?._tag === "Remote" ? canonical(reveal(config.url)) : undefined
  return serverUrl === undefined ? undefined : { server, serverUrl }
}

/** One spelling for all spellings of an address. */
const canonical = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  url.hash = ""
  return /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** The stored tokens, unless they were issued to another client than the configured one. */
export const tokensOf = ({ settings }: LoginTarget, credential: Credential | undefined): Tokens | undefined => {
  const { clientId } = settings
  const isSameClient = clientId === undefined || reveal(clientId) === credential?.clientInfo?.clientId
  return isSameClient ? credential?.tokens : undefined
}
