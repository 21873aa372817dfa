/**
 * What a remote server wants to see before it answers, and what is done when that is not enough. Whoever connects provides
 * it; here it is only known when to ask.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { ConnectionError } from "../domain/Errors.js"
import type { Secrets } from "../domain/Secrets.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Refusal {
  readonly status: 401 | 403
  /** The header `www-authenticate`, or nothing. */
  readonly challenge: string
  /** The headers that were refused. */
  readonly sent: Readonly<Record<string, string>>
  /** How often this request was sent again already. */
  readonly retries: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Credentials {
  /** Brings what is needed, before the first request of an attempt. */
  readonly prepare: Effect.Effect<void, ConnectionError>
  /** For a request that is about to be sent, in lower case. Must not throw. */
  readonly headers: () => Readonly<Record<string, string>>
  /** What of it must not be shown. The same object while nothing changes. Must not throw. */
  readonly secrets: () => Secrets
  /**
   * The server refused a request: with 401, or with 403 because the login allows too little. Succeeds if there are other
   * headers by now that are worth a try; fails with what to say instead.
   */
  readonly refused: (refusal: Refusal) => Effect.Effect<void, ConnectionError>
}
