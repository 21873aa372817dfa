/**
 * The authorization headers for a remote server, and the reaction to a 401 or 403. The caller of `connect` provides them; this
 * interface only defines when they are requested.
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
  /** The header `www-authenticate`, or an empty string. */
  readonly challenge: string
  /** The headers of the refused request. */
  readonly sent: Readonly<Record<string, string>>
  /** How often this request has been retried. */
  readonly retries: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Credentials {
  /** Makes the headers available. Runs before the first request of an attempt. */
  readonly prepare: Effect.Effect<void, ConnectionError>
  /** The headers for a request that is about to be sent, in lower case. Must not throw. */
  readonly headers: () => Readonly<Record<string, string>>
  /** The parts of the headers that must not be shown. Returns the same object until something changes. Must not throw. */
  readonly secrets: () => Secrets
  /**
   * Handles a request that the server refused: with 401, or with 403 because the login lacks a scope. Succeeds if the headers
   * have changed and the request can be retried; otherwise fails with the error to report.
   */
  readonly refused: (refusal: Refusal) => Effect.Effect<void, ConnectionError>
}
