/**
 * What those who bring credentials say when they have none: their words may hold what others told them, or what the config
 * hides.
 */
import { AuthError, AuthRequired, type ConnectionError, RegistrationRequired } from "../../domain/Errors.js"
import { defined } from "../../domain/internal/defined.js"

/** The same without what must not be shown. */
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
        // whoever makes the others scrubs them
        return error
    }
  }

/** The same for who logs in. */
export const scrubbedLogin =
  (scrub: (text: string) => string) =>
  ({ detail, reason, server }: AuthError): AuthError =>
    new AuthError({ server, reason: scrub(reason), detail: scrub(detail) })
