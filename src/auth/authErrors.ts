/**
 * Maps failures of OAuth requests and of the credential store to the errors of connections and logins.
 */
import { AuthError, AuthRequired, type ConnectionError, RegistrationRequired } from "../domain/Errors.js"
import { defined } from "../domain/internal/defined.js"
import type { OAuthFailure } from "./oauth/OAuthFailure.js"
import type { ClientInfo } from "./tokens/Credential.js"
import type { StoreFailed } from "./tokens/credentialStorePort.js"

export const authRequired = (
  server: string,
  reason: string,
  options?: { readonly scope?: string | undefined; readonly login?: boolean | undefined }
): AuthRequired =>
  new AuthRequired({ server, reason, login: options?.login ?? true, ...defined({ scope: options?.scope }) })

/** The error of a connection attempt for an OAuth failure. */
export const connectionError = (
  server: string,
  failure: OAuthFailure,
  client?: Pick<ClientInfo, "registered"> | undefined
): ConnectionError => {
  const { detail, kind, reason } = failure
  switch (kind) {
    case "unavailable":
    case "refused":
      return new AuthError({ server, reason, detail })
    case "grant":
      return authRequired(server, "the login is no longer valid")
    case "client":
      return client?.registered === true
        ? authRequired(
            server,
            "the authorization server no longer knows the registered client; a new login registers one"
          )
        : new RegistrationRequired({ server, detail })
    case "registration":
      return new RegistrationRequired({ server, detail })
    case "absent":
      return authRequired(server, detail, { login: false })
  }
}

/** The error of a login for a connection error. */
export const loginError = (error: ConnectionError): AuthError => {
  const server = error.server ?? ""
  switch (error._tag) {
    case "AuthError":
      return error
    case "RegistrationRequired":
      return new AuthError({ server, reason: "registration_required", detail: `${error.detail}; ${error.hint}` })
    case "AuthRequired":
      return new AuthError({
        server,
        reason: error.login ? "refused" : "no_login",
        detail: `${error.reason}; ${error.hint}`
      })
    default:
      return new AuthError({ server, reason: "unavailable", detail: error.message })
  }
}

export const storeError = (server: string, { detail, isTemporary }: StoreFailed): AuthError =>
  new AuthError({ server, reason: isTemporary ? "unavailable" : "store", detail })

/** Whether an authorization server or the store was unavailable, so that a retry may succeed. */
export const isUnavailable = (error: ConnectionError): boolean =>
  error._tag === "AuthError" && error.reason === "unavailable"
