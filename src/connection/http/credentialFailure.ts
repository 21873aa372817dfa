/**
 * Removes secrets from the errors of a credentials provider. Their text may hold secrets of the config, or text of an
 * authorization server.
 */
import { AuthError, AuthRequired, type ConnectionError, RegistrationRequired } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"

/** Replaces the secrets in the text of a connection error. */
export const scrubbed =
  (scrub: (text: string) => string) =>
  (error: ConnectionError): ConnectionError => {
    switch (error._tag) {
      case "AuthError":
        return scrubbedLogin(scrub)(error)
      case "AuthRequired": {
        const { login, reason, server } = error
        const scope = error.scope === undefined ? undefined : scrub(error.scope)
        return new AuthRequired({ server, reason: scrub(reason), login, ...defined({ scope }) })
      }
      case "RegistrationRequired":
        return new RegistrationRequired({ server: error.server, detail: scrub(error.detail) })
      default:
        // All other errors are scrubbed where they are created.
        return error
    }
  }

/** Replaces the secrets in the text of a login error. */
export const scrubbedLogin =
  (scrub: (text: string) => string) =>
  ({ detail, reason, server }: AuthError): AuthError =>
    new AuthError({ server, reason: scrub(reason), detail: scrub(detail) })
