/**
 * Headers from the `headers` option, such as short-lived tokens. They are requested before each attempt, and once more
 * when the server rejects them.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials, Refusal } from "../connection/Credentials.js"
import { parseChallenge } from "../connection/http/httpFailure.js"
import type { ConnectionError } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import { authRequired } from "./authErrors.js"
import * as OAuthScopes from "./oauth/oauthScopes.js"

export type RedactedHeaders = Readonly<Record<string, Redacted.Redacted<string>>>

export type AskForHeaders = (reason: "connect" | "unauthorized") => Effect.Effect<RedactedHeaders>

export interface ProvidedHeaders {
  /** Requests the headers before an attempt. */
  readonly ask: Effect.Effect<RedactedHeaders>
  /** Requests the headers once more, unless this happened since the last attempt started. */
  readonly askAgain: Effect.Effect<RedactedHeaders | undefined>
  /**
   * The headers as credentials of a connection, merged with other credentials. Those handle a rejection if the provided
   * headers contain no `Authorization`.
   */
  readonly credentials: (others: Credentials | undefined) => Credentials
}

export const make = (server: string, ask: AskForHeaders): ProvidedHeaders => {
  const turn = Effect.unsafeMakeSemaphore(1)
  let shown: Readonly<Record<string, string>> = {}
  let secrets = Secrets.empty
  let isAskedAgain = false
  const take = (headers: RedactedHeaders) => {
    shown = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), Redacted.value(value)])
    )
    secrets = Secrets.make(Object.values(headers))
  }
  const again = Effect.suspend(() => {
    isAskedAgain = true
    return Effect.tap(ask("unauthorized"), take)
  })

  const isNew = (sent: Refusal["sent"]) => Object.entries(shown).some(([name, value]) => sent[name] !== value)

  /** Requests new headers after a rejection, unless another request has replaced them in the meantime. */
  const replace = (
    { retries, sent }: Refusal,
    otherwise: Effect.Effect<void, ConnectionError>
  ): Effect.Effect<void, ConnectionError> => {
    const missing = Effect.suspend(() => (isNew(sent) || retries > 0 ? Effect.void : again)).pipe(turn.withPermits(1))
    return Effect.flatMap(missing, () => (isNew(sent) && retries < Infinity ? Effect.void : otherwise))
  }

  return {
    ask: Effect.tap(ask("connect"), (headers) => {
      take(headers)
      isAskedAgain = false
    }),
    askAgain: Effect.suspend(() => (isAskedAgain ? Effect.succeed(undefined) : again)),
    credentials: (others) => {
      const isOurs = () => others === undefined || shown.authorization !== undefined
      let known = { ours: Secrets.empty, theirs: Secrets.empty, all: Secrets.empty }
      return {
        prepare: Effect.suspend(() => (isOurs() ? Effect.void : others!.prepare)),
        headers: () => ({ ...others?.headers(), ...shown }),
        secrets: () => {
          const theirs = others?.secrets() ?? Secrets.empty
          if (known.ours !== secrets || known.theirs !== theirs) {
            known = { ours: secrets, theirs, all: Secrets.union(secrets, theirs) }
          }
          return known.all
        },
        refused: (refusal) => {
          const isLost = refusal.status === 401
          // The login may be valid, and one of the provided headers expired.
          if (!isOurs()) return isLost ? replace(refusal, others!.refused(refusal)) : others!.refused(refusal)
          if (isLost) return replace(refusal, Effect.fail(authRequired(server, notAccepted, noLogin)))
          const scope = OAuthScopes.askedFor(parseChallenge(refusal.challenge).scope, secretsIn(Object.values(shown)))
          return Effect.fail(authRequired(server, insufficient, { ...noLogin, scope }))
        }
      }
    }
  }
}

/** Each value with and without its scheme, such as `Bearer`. */
const secretsIn = (values: ReadonlyArray<string>) =>
  Secrets.make(values.flatMap((value) => [value, value.replace(/^\w+ /, "")]))

const noLogin = { login: false }
const insufficient = "the provided credentials do not allow this"
const notAccepted = "the server does not accept the provided credentials"
