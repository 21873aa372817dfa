/**
 * Chooses the OAuth client: the configured one, else its metadata document, else a registered one.
 */
import * as Redacted from "effect/Redacted"
import { RegistrationRequired } from "../../domain/Errors.js"
import * as Secrets from "../../domain/Secrets.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type { ClientInfo, Credential, Discovery } from "../tokens/Credential.js"
import type { LoginTarget } from "../login/LoginTarget.js"

type OAuth = Pick<typeof import("./sdkOAuth.js"), "takesMetadataUrl" | "takesRegistrations">

/** The default address of the callback. */
export const callbackHost = "127.0.0.1"
export const callbackPath = "/mcp/oauth/callback"

export const redirectUriOf = ({ settings }: LoginTarget): string =>
  settings.redirectUri === undefined
    ? `http://${callbackHost}:${settings.callbackPort}${callbackPath}`
    : Secrets.reveal(settings.redirectUri)

/** The client from the config, if there is one. Its redirect URI cannot be changed. */
export const given = ({ settings }: LoginTarget, oauth: OAuth, discovery: Discovery): ClientInfo | undefined => {
  const { clientId, clientMetadataUrl, clientSecret } = settings
  if (clientId !== undefined) {
    const secret = clientSecret === undefined ? {} : { clientSecret: Secrets.reveal(clientSecret) }
    return { clientId: Secrets.reveal(clientId), ...secret, registered: false }
  }
  if (clientMetadataUrl === undefined || !oauth.takesMetadataUrl(discovery)) return undefined
  return { clientId: Secrets.reveal(clientMetadataUrl), authMethod: "none", registered: false }
}

/** The client registered earlier, if it is valid: same authorization server, not doubtful, not expired. */
export const known = (
  credential: Credential | undefined,
  { issuer }: Discovery,
  now: number
): ClientInfo | undefined => {
  const { clientInfo } = credential ?? {}
  const isGood = clientInfo?.registered === true && credential?.issuer === issuer && clientInfo.doubtful !== true
  return isGood && (clientInfo.clientSecretExpiresAt ?? Infinity) > now ? clientInfo : undefined
}

/** Whether a login is possible according to the metadata. */
export const isPossible = (target: LoginTarget, oauth: OAuth, discovery: Discovery): boolean =>
  given(target, oauth, discovery) !== undefined || oauth.takesRegistrations(discovery)

export const registrationRequired = (target: LoginTarget, { issuer }: Discovery): RegistrationRequired => {
  const isHidden = Redacted.isRedacted(target.settings.redirectUri)
  const redirectUri = isHidden ? `that "redirectUri" of its config names` : redirectUriOf(target)
  const detail = `${issuer} does not register clients by itself; the client needs the redirect URI ${redirectUri}`
  const scrub = Secrets.scrub(ServerConfig.secrets(target.config))
  return new RegistrationRequired({ server: target.server, detail: scrub(detail) })
}
