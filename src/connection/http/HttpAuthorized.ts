/**
 * Requests that show who we are. One that is refused for that is sent again if there is something better to show.
 */
import type * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import type { Credentials, Refusal } from "../Credentials.js"
import { type HttpClient, maxUnreadBytes } from "./HttpClient.js"
import { parseChallenge } from "./httpFailure.js"

/** How often a request is sent again: once with what is new, once more if even that was replaced meanwhile. */
const maxRetries = 2

/** Starts an effect. The function it gives ends it. */
export type Start = (
  effect: Effect.Effect<void, ConnectionError>,
  done: (failure: ConnectionError | undefined) => void
) => () => void

export const authorized = (client: HttpClient, credentials: Credentials, start: Start): HttpClient => ({
  request: (request, handler) => {
    let abort = () => {}
    let over = false

    const send = (retries: number) => {
      const sent = credentials.headers()
      let refused = false
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
            refused = true
            hold = () => flow.pause()
            stop = start(credentials.refused(refusal), (failure) => {
              // its body may go on for as long as it likes
              exchange()
              if (over) return
              if (failure !== undefined) return handler.denied?.(failure, status === 401)
              send(retries + 1)
            })
          },
          data: (chunk) => {
            if (!refused) return handler.data(chunk)
            unread += chunk.length
            if (unread > maxUnreadBytes) hold()
          },
          end: () => {
            if (!refused) handler.end()
          },
          error: (error) => {
            if (!refused) handler.error(error)
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
      over = true
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
