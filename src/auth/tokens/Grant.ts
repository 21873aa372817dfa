/**
 * Defines the OAuth grants: whether a person logs in, and how tokens are renewed.
 */
import type * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { AuthContext } from "../AuthContext.js"
import type { LoginTarget } from "../login/LoginTarget.js"
import { requestClientTokens } from "./clientCredentials.js"
import type { Credential, Tokens } from "./Credential.js"
import type { StoreFailed } from "./credentialStorePort.js"
import { refreshTokens } from "./refreshTokens.js"

export interface RenewalRequest {
  readonly context: AuthContext
  readonly target: LoginTarget
  /** The stored credential. */
  readonly stored: Credential | undefined
  /** The stored tokens, unless they were issued to another client than the configured one. */
  readonly tokens: Tokens | undefined
  /** Whether a user asked for new tokens. */
  readonly isExplicit: boolean
}

export interface OAuthGrant {
  /** Whether a person logs in on a page of the authorization server. */
  readonly usesLoginPage: boolean
  /** Whether new tokens can be requested without a person. */
  readonly isRenewable: (tokens: Tokens | undefined) => boolean
  /** Requests new tokens and saves them. The caller holds the lock of the login. */
  readonly renew: (request: RenewalRequest) => Effect.Effect<void, ConnectionError | StoreFailed>
}

const grants: Record<OAuthSettings["grant"], OAuthGrant> = {
  authorization_code: {
    usesLoginPage: true,
    isRenewable: (tokens) => tokens?.refreshToken !== undefined && tokens.refused !== true,
    renew: refreshTokens
  },
  client_credentials: {
    usesLoginPage: false,
    isRenewable: () => true,
    renew: requestClientTokens
  }
}

export const grantOf = ({ grant }: Pick<OAuthSettings, "grant">): OAuthGrant => grants[grant]
