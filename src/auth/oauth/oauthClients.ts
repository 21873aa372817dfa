/**
 * Chooses the OAuth client: the configured one, else its metadata document, else a registered one.
 */
import * as Redacted from "effect/Redacted"
import { RegistrationRequired } from "../../domain/Errors.js"
import * as Secrets from "../../domain/Secrets.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type { ClientInfo, Credential, Discovery } from "../tokens/Credential.js"
import type { LoginTarget } from "../login/LoginTarget.js"

type OAuth = typeof import("./sdkOAuth.js")

/** The default address of the callback. */
export const callbackHost = "127.0.0.1"
export const callbackPath = "/mcp/oauth/callback"

export const redirectUriOf = ({ settings }: LoginTarget): string =>
  settings.redirectUri === undefined
    ? `http://${callbackHost}:${settings.callbackPort}${callbackPath}`
    : Secrets.reveal(settings.redirectUri)

/** The client from the config, if there is one, without its secret. Its redirect URI cannot be changed. */
export const configured = (
  { settings }: LoginTarget,
  oauth: Pick<OAuth, "supportsMetadataUrl">,
  discovery: Discovery
): ClientInfo | undefined => {
  const { clientId, clientMetadataUrl } = settings
  if (clientId !== undefined) return { clientId: Secrets.reveal(clientId), registered: false }
  if (clientMetadataUrl === undefined || !oauth.supportsMetadataUrl(discovery)) return undefined
  return { clientId: Secrets.reveal(clientMetadataUrl), authMethod: "none", registered: false }
}

/** Adds the secret from the config. It is never stored, and may change. */
export const withConfiguredSecret = ({ settings }: LoginTarget, client: ClientInfo): ClientInfo =>
  client.registered || settings.clientSecret === undefined
    ? client
    : { ...client, clientSecret: Secrets.reveal(settings.clientSecret) }

/** The client registered earlier, if it is valid: same authorization server, not doubtful, not expired. */
export const registered = (
  credential: Credential | undefined,
  { issuer }: Discovery,
  now: number
): ClientInfo | undefined => {
  const { clientInfo } = credential ?? {}
  const isGood = clientInfo?.registered === true && credential?.issuer === issuer && clientInfo.doubtful !== true
  return isGood && (clientInfo.clientSecretExpiresAt ?? Infinity) > now ? clientInfo : undefined
}

export const registrationRequired = (target: LoginTarget, { issuer }: Discovery): RegistrationRequired => {
  const isHidden = Redacted.isRedacted(target.settings.redirectUri)
  const redirectUri = isHidden ? `from "redirectUri" of its config` : redirectUriOf(target)
  const detail = `${issuer} does not register clients automatically; the client needs the redirect URI ${redirectUri}`
  const scrub = Secrets.scrub(ServerConfig.secrets(target.config))
  return new RegistrationRequired({ server: target.server, detail: scrub(detail) })
}
