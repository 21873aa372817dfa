/**
 * Headers that the program itself provides, such as bearers that do not live long: asked for before each attempt, and once
 * more when they are refused.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials, Refusal } from "../connection/Credentials.js"
import { parseChallenge } from "../connection/http/httpFailure.js"
import type { ConnectionError } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import { required } from "./AuthContext.js"
import * as OAuthScopes from "./oauth/oauthScopes.js"

export type Headers = Readonly<Record<string, Redacted.Redacted<string>>>

export type AskForHeaders = (reason: "connect" | "unauthorized") => Effect.Effect<Headers>

export interface ProvidedHeaders {
  /** Asks before an attempt. */
  readonly ask: Effect.Effect<Headers>
  /** Asks once more, if that was not done yet since the last attempt began. */
  readonly askAgain: Effect.Effect<Headers | undefined>
  /** The same for a connection, with what else there is to show: that is asked where we have nothing to say. */
  readonly credentials: (others: Credentials | undefined) => Credentials
}

export const make = (server: string, ask: AskForHeaders): ProvidedHeaders => {
  const turn = Effect.unsafeMakeSemaphore(1)
  let shown: Readonly<Record<string, string>> = {}
  let secrets = Secrets.empty
  let isAskedAgain = false
  const take = (headers: Headers) => {
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

  /** Asks for better ones than those that were refused, unless somebody has done so meanwhile. */
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
          // the login may be good, and one of these headers too old
          if (!isOurs()) return isLost ? replace(refusal, others!.refused(refusal)) : others!.refused(refusal)
          if (isLost) return replace(refusal, Effect.fail(required(server, unknown, noLogin)))
          const scope = OAuthScopes.askedFor(parseChallenge(refusal.challenge).scope, secretsIn(Object.values(shown)))
          return Effect.fail(required(server, tooLittle, { ...noLogin, scope }))
        }
      }
    }
  }
}

/** Also without the kind of a credential before it. */
const secretsIn = (values: ReadonlyArray<string>) =>
  Secrets.make(values.flatMap((value) => [value, value.replace(/^\w+ /, "")]))

const noLogin = { login: false }
const tooLittle = "the credentials it was given do not allow this"
const unknown = "the server does not accept the credentials it was given"
