/**
 * Holds what this process knows of one login, so that a request does not have to read the credential store.
 */
import * as Effect from "effect/Effect"
import type * as Deferred from "effect/Deferred"
import type { ConnectionError } from "../../domain/Errors.js"
import * as Secrets from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { Credential, Tokens } from "../tokens/Credential.js"

/** What a server says about the login it requires, in the response that rejects a request. */
export interface LoginChallenge {
  readonly scope?: string | undefined
  /** The URL of the server's metadata. */
  readonly resourceMetadataUrl?: string | undefined
}

export interface LoginState {
  readonly credential: () => Credential | undefined
  /** The secrets of the credential, and of the ones before it. */
  readonly secrets: () => Secrets.Secrets
  /** Replaces the credential. Returns whether the access token changed. */
  readonly adopt: (credential: Credential | undefined) => boolean
  /**
   * Replaces the credential by the one in the store, unless the store still contains the tokens from before `unsaved`.
   * Returns whether the access token changed.
   */
  readonly adoptStored: (credential: Credential | undefined) => boolean
  /** Completes when the access token changes. */
  readonly tokenChanged: Effect.Effect<void>
  /** Tokens that are not saved yet, and the tokens that the store contains until then. */
  unsaved: { readonly tokens: Tokens; readonly stored: Tokens | undefined } | undefined
  /** The challenge of the last 401 response. */
  challenge: LoginChallenge | undefined
  /** The scope that the login lacks, from the last 403 response. Empty if the server did not name one. */
  missingScope: string | undefined
  /** The scopes requested after 403 responses, and how many logins in a row requested nothing new. */
  stepUps: { readonly requested: string | undefined; readonly count: number }
  /** The last error of a login that cannot succeed with these settings. */
  blocked: { readonly settings: OAuthSettings; readonly error: ConnectionError } | undefined
  /** The access token that was issued last. */
  latestToken: string | undefined
  /** The renewal in progress, and the token that it replaces. */
  renewal:
    | { readonly oldToken: string | undefined; readonly done: Deferred.Deferred<void, ConnectionError> }
    | undefined
}

/** How many replaced secrets are still hidden. */
const maxReplaced = 16

const secretTextsOf = ({ clientInfo, login, tokens }: Partial<Credential> = {}): ReadonlyArray<string> =>
  [
    tokens?.accessToken,
    tokens?.refreshToken,
    clientInfo?.clientSecret,
    login?.codeVerifier,
    login?.oauthState,
    login?.clientInfo.clientSecret
  ].filter((text) => text !== undefined)

export const noStepUps: LoginState["stepUps"] = { requested: undefined, count: 0 }

export const make = (): LoginState => {
  const listeners = new Set<() => void>()
  let credential: Credential | undefined
  let secrets = Secrets.empty
  /** The response to a request with a replaced secret may still arrive. */
  let replaced: ReadonlyArray<string> = []
  let current: ReadonlyArray<string> = []

  /** Changes `secrets` only if a text has changed: `Secrets.scrub` caches by identity. */
  const hide = (texts: ReadonlyArray<string>) => {
    if (texts.length === current.length && texts.every((text, index) => text === current[index])) return
    const removed = current.filter((text) => !texts.includes(text))
    replaced = [...replaced.filter((text) => !removed.includes(text)), ...removed].slice(-maxReplaced)
    current = texts
    secrets = Secrets.make([...current, ...replaced])
  }

  const loginState: LoginState = {
    credential: () => credential,
    secrets: () => secrets,
    adopt: (next) => {
      loginState.unsaved = undefined
      const before = credential?.tokens?.accessToken
      credential = next
      hide(secretTextsOf(next))
      if (before === next?.tokens?.accessToken) return false
      for (const listener of listeners) listener()
      return true
    },
    adoptStored: (next) => {
      const { unsaved } = loginState
      const isOlder = unsaved !== undefined && next?.tokens?.accessToken === unsaved.stored?.accessToken
      return isOlder ? false : loginState.adopt(next)
    },
    tokenChanged: Effect.async<void>((resume) => {
      const listener = () => {
        listeners.delete(listener)
        resume(Effect.void)
      }
      listeners.add(listener)
      return Effect.sync(() => listeners.delete(listener))
    }),
    unsaved: undefined,
    challenge: undefined,
    missingScope: undefined,
    stepUps: noStepUps,
    blocked: undefined,
    latestToken: undefined,
    renewal: undefined
  }
  return loginState
}
