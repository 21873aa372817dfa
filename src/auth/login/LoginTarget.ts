/**
 * Whom a login is for: a remote server, as its config has it now.
 */
import * as Schema from "effect/Schema"
import { type Policy, policyFor } from "../../domain/NetworkAddress.js"
import { reveal } from "../../domain/Secrets.js"
import { allowsLogin, OAuthSettings, type Remote } from "../../domain/server/ServerConfig.js"
import type { Credential, Tokens } from "../tokens/Credential.js"
import type { Key } from "../tokens/credentialStorePort.js"

export interface LoginTarget extends Key {
  readonly config: Remote
  readonly settings: OAuthSettings
}

/** Nothing where no login is wanted, or where the config itself says who we are. */
export const loginTargetOf = (server: string, config: Remote): LoginTarget | undefined => {
  const key = keyOf(server, config)
  if (config.oauth === false || key === undefined || !allowsLogin(config)) return undefined
  return { ...key, config, settings: config.oauth }
}

/** Whether two configs ask for the same login: the same one, read again, is another object. */
export const isSameSettings: (a: OAuthSettings, b: OAuthSettings) => boolean = Schema.equivalence(OAuthSettings)

/** Whether a login that was begun for the one is one for the other. */
export const isSameTarget = (a: LoginTarget, b: LoginTarget): boolean =>
  a.server === b.server &&
  a.serverUrl === b.serverUrl &&
  a.config.caFile === b.config.caFile &&
  a.config.privateNetwork === b.config.privateNetwork &&
  isSameSettings(a.settings, b.settings)

/** Where requests for a login may go. */
export const policyOf = ({ config, serverUrl, settings }: LoginTarget): Policy =>
  policyFor({
    url: serverUrl,
    configured: [settings.authorizationUrl, settings.tokenUrl].filter((url) => url !== undefined).map(reveal),
    privateNetwork: config.privateNetwork
  })

/** By what a login is kept, whether the config wants one now or not. */
export const keyOf = (server: string, config: Remote): Key | undefined => {
  const serverUrl = canonical(reveal(config.url))
  return serverUrl === undefined ? undefined : { server, serverUrl }
}

/** The address by which a server is known: two spellings of one address are one. */
const canonical = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  url.hash = ""
  return /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** The tokens that may be used: not those of another client than the one that is configured. */
export const tokensOf = ({ settings }: LoginTarget, credential: Credential | undefined): Tokens | undefined => {
  const { clientId } = settings
  const isOurs = clientId === undefined || reveal(clientId) === credential?.clientInfo?.clientId
  return isOurs ? credential?.tokens : undefined
}

/** Whether new tokens can be had without anybody logging in. */
export const isRenewable = ({ settings }: LoginTarget, tokens: Tokens | undefined): boolean =>
  settings.grant === "client_credentials" || (tokens?.refreshToken !== undefined && tokens.refused !== true)
