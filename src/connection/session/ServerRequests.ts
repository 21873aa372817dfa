/**
 * Limits how many requests of a server are in progress, and how many responses wait to be written. Both limits are 64. At
 * either one, reading from the server pauses.
 *
 * A handler may wait for a person, and a server may never read the responses, but the responses to the client's own requests
 * arrive on the same stream. So a pause lasts at most one second. After that, and until a slot is free, a request beyond the
 * limit is refused immediately; if even refusals cannot be written, it is dropped.
 */
import { errorCodes } from "../../domain/catalog/Protocol.js"
import type { SendCallbacks, Message, MessageId, Wire } from "../wire/Wire.js"

/** The maximum number of requests in progress, and of responses that wait to be written. */
export const maxRequests = 64

/** Milliseconds. The maximum pause of reading from a server that is at a limit. */
const patience = 1000

export interface ServerRequests {
  /** Returns whether a request is to be handled. If not, it was answered or dropped. */
  readonly admit: (request: Message & { readonly id: MessageId }) => boolean
  /** The server cancelled a request. */
  readonly cancelled: (id: unknown) => void
  /** Writes the response to a request. */
  readonly answer: (answer: Message, callbacks?: SendCallbacks) => void
  /** Called at the end of the connection. */
  readonly close: () => void
}

export const make = (wire: Wire): ServerRequests => {
  /** The number of requests in progress by id: a server may use an id twice. */
  const inProgress = new Map<MessageId, number>()
  let handled = 0
  let unwritten = 0
  let isPaused = false
  let isOverloaded = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  const resume = () => {
    clearTimeout(timer)
    if (!isPaused) return
    isPaused = false
    wire.resume()
  }

  const review = () => {
    if (closed) return
    if (handled < maxRequests && unwritten < maxRequests) {
      isOverloaded = false
      resume()
    } else if (!isPaused && !isOverloaded) {
      isPaused = true
      wire.pause()
      timer = setTimeout(() => {
        isOverloaded = true
        resume()
      }, patience).unref()
    }
  }

  const settled = (id: MessageId) => {
    const count = inProgress.get(id)
    if (count === undefined) return
    handled -= 1
    if (count === 1) inProgress.delete(id)
    else inProgress.set(id, count - 1)
  }

  const write = (answer: Message, callbacks?: SendCallbacks) => {
    unwritten += 1
    const written = () => {
      unwritten -= 1
      review()
    }
    wire.send(answer, {
      done: () => {
        written()
        callbacks?.done?.()
      },
      failed: (failure) => {
        written()
        callbacks?.failed(failure)
      }
    })
    review()
  }

  return {
    admit: ({ id, method }) => {
      // The response could not be written.
      if (unwritten >= maxRequests) return false
      const isPing = method === "ping"
      if (isPing || handled >= maxRequests) {
        write({ jsonrpc: "2.0", id, ...(isPing ? { result: {} } : { error: tooMany }) })
        return false
      }
      inProgress.set(id, (inProgress.get(id) ?? 0) + 1)
      handled += 1
      review()
      return true
    },
    cancelled: (id) => {
      settled(id as MessageId)
      review()
    },
    answer: (answer, callbacks) => {
      if (answer.id != null) settled(answer.id)
      write(answer, callbacks)
    },
    close: () => {
      closed = true
      resume()
    }
  }
}

const tooMany = {
  code: errorCodes.InternalError,
  message: `too many requests: ${maxRequests} are in progress; wait for their answers`
}
