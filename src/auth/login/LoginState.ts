/**
 * What this process knows of one login, so that a request does not have to wait for the disk.
 */
import * as Effect from "effect/Effect"
import type * as Deferred from "effect/Deferred"
import type { ConnectionError } from "../../domain/Errors.js"
import * as Secrets from "../../domain/Secrets.js"
import type { OAuthSettings } from "../../domain/server/ServerConfig.js"
import type { Credential, Tokens } from "../tokens/Credential.js"

/** What a server said about the login it wants. */
export interface WantedScope {
  readonly scope?: string | undefined
  /** Where it describes itself. */
  readonly resourceMetadataUrl?: string | undefined
}

export interface LoginState {
  readonly credential: () => Credential | undefined
  /** What of it must not be shown. */
  readonly secrets: () => Secrets.Secrets
  /** Takes this over. Says whether the token is another one. */
  readonly adopt: (credential: Credential | undefined) => boolean
  /** The same with what was found in the store, which may be older than what could not be written to it. */
  readonly found: (credential: Credential | undefined) => boolean
  /** Tokens that could not be written yet, and those that the store still has instead. */
  unsaved: { readonly tokens: Tokens; readonly instead: Tokens | undefined } | undefined
  /** Completes when the token is another one. */
  readonly changed: Effect.Effect<void>
  /** From the last refusal. */
  wish: WantedScope | undefined
  /** What a login has to allow besides, by a refusal of a login that allows too little; empty, if the server does not say. */
  wanted: string | undefined
  /** All that was asked for because a login allowed too little, and how many logins in a row asked for nothing new. */
  stepUps: { readonly asked: string | undefined; readonly count: number }
  /** Why no login can succeed with these settings, by the last one that was tried. */
  verdict: { readonly of: OAuthSettings; readonly error: ConnectionError } | undefined
  /** The token that was given to us last. */
  fresh: string | undefined
  /** The renewal that is under way, and of which token. */
  renewal: { readonly of: string | undefined; readonly done: Deferred.Deferred<void, ConnectionError> } | undefined
}

/** How many texts that are of no more use stay hidden. */
const maxRetired = 16

/** What of a login nobody may see. */
const textsOf = ({ clientInfo, login, tokens }: Partial<Credential> = {}): ReadonlyArray<string> =>
  [
    tokens?.accessToken,
    tokens?.refreshToken,
    clientInfo?.clientSecret,
    login?.codeVerifier,
    login?.oauthState,
    login?.clientInfo.clientSecret
  ].filter((text) => text !== undefined)

export const noStepUps: LoginState["stepUps"] = { asked: undefined, count: 0 }

export const make = (): LoginState => {
  const listeners = new Set<() => void>()
  let credential: Credential | undefined
  let secrets = Secrets.empty
  /** Those that were replaced: an answer to what was sent with one of them may still come. */
  let retired: ReadonlyArray<string> = []
  let current: ReadonlyArray<string> = []
  const loginState: LoginState = {
    credential: () => credential,
    secrets: () => secrets,
    found: (next) => {
      const { instead } = loginState.unsaved ?? {}
      const isOlder = loginState.unsaved !== undefined && next?.tokens?.accessToken === instead?.accessToken
      return isOlder ? false : loginState.adopt(next)
    },
    unsaved: undefined,
    adopt: (next) => {
      loginState.unsaved = undefined
      const before = credential?.tokens?.accessToken
      credential = next
      const hidden = textsOf(next)
      // the same object while nothing changes: whoever scrubs with it prepares for it
      if (hidden.length !== current.length || hidden.some((text, index) => text !== current[index])) {
        const replaced = current.filter((text) => !hidden.includes(text))
        retired = [...retired.filter((text) => !replaced.includes(text)), ...replaced].slice(-maxRetired)
        current = hidden
        secrets = Secrets.make([...current, ...retired])
      }
      if (before === next?.tokens?.accessToken) return false
      for (const tell of listeners) tell()
      return true
    },
    changed: Effect.async<void>((resume) => {
      const tell = () => {
        listeners.delete(tell)
        resume(Effect.void)
      }
      listeners.add(tell)
      return Effect.sync(() => listeners.delete(tell))
    }),
    wish: undefined,
    wanted: undefined,
    stepUps: noStepUps,
    verdict: undefined,
    fresh: undefined,
    renewal: undefined
  }
  return loginState
}
