/**
 * An HTTP client that adds credentials to each request, and retries a refused request with new ones.
 */
import type * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import type { Credentials, Refusal } from "../Credentials.js"
import { type HttpClient, maxUnreadBytes } from "./HttpClient.js"
import { parseChallenge } from "./httpFailure.js"

/** The number of retries: one with new credentials, and one more in case these were replaced in the meantime. */
const maxRetries = 2

/** Starts an effect. The returned function interrupts it. */
export type Start = (
  effect: Effect.Effect<void, ConnectionError>,
  done: (failure: ConnectionError | undefined) => void
) => () => void

export const authorized = (client: HttpClient, credentials: Credentials, start: Start): HttpClient => ({
  request: (request, handler) => {
    let abort = () => {}
    let isAborted = false

    const send = (retries: number) => {
      const sent = credentials.headers()
      let isRefused = false
      let unread = 0
      let hold = () => {}
      let stop = () => {}
      const exchange = client.request(
        { ...request, headers: { ...request.headers, ...sent } },
        {
          started: retries === 0 ? handler.started : undefined,
          head: (status, headers, flow) => {
            const challenge = String(headers["www-authenticate"] ?? "")
            const refusal = refusalOf(status, challenge, sent, retries)
            if (refusal === undefined) return handler.head(status, headers, flow)
            isRefused = true
            hold = () => flow.pause()
            stop = start(credentials.refused(refusal), (failure) => {
              // Ends the exchange: the body of the refusal may be endless.
              exchange()
              if (isAborted) return
              if (failure !== undefined) return handler.denied?.(failure, status === 401)
              send(retries + 1)
            })
          },
          data: (chunk) => {
            if (!isRefused) return handler.data(chunk)
            unread += chunk.length
            if (unread > maxUnreadBytes) hold()
          },
          end: () => {
            if (!isRefused) handler.end()
          },
          error: (error) => {
            if (!isRefused) handler.error(error)
          }
        }
      )
      abort = () => {
        stop()
        exchange()
      }
    }

    send(0)
    return () => {
      isAborted = true
      abort()
    }
  }
})

const refusalOf = (
  status: number,
  challenge: string,
  sent: Readonly<Record<string, string>>,
  retries: number
): Refusal | undefined => {
  if (status === 401) return { status, challenge, sent, retries: retries < maxRetries ? retries : Infinity }
  if (status !== 403 || parseChallenge(challenge).error !== "insufficient_scope") return undefined
  return { status, challenge, sent, retries }
}
