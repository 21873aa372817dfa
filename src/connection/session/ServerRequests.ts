/**
 * What a server asks of us, within bounds: at most 64 requests of a server are in progress, and at most as many answers wait
 * to be written. At either limit its output is not read on.
 *
 * A handler may wait for a person, and a server may never read our answers, but the answers to our own requests come on the
 * same stream. So a pause lasts a second at most. After that, and until there is room again, a request beyond the limit is
 * refused at once, and where even refusals cannot be written, it is dropped.
 */
import { errorCodes } from "../../domain/catalog/Protocol.js"
import type { Fate, Message, MessageId, Wire } from "../wire/Wire.js"

/** Requests of one server in progress, and answers to it that wait to be written. */
export const maxRequests = 64

/** Milliseconds for which nothing is read from a server that is at a limit. */
const patience = 1000

export interface ServerRequests {
  /** Whether a request is to be handled. Otherwise it has been dealt with. */
  readonly admit: (request: Message & { readonly id: MessageId }) => boolean
  /** The server takes a request back. */
  readonly cancelled: (id: unknown) => void
  /** Writes the answer to a request. */
  readonly answer: (answer: Message, fate?: Fate) => void
  /** The connection is over. */
  readonly close: () => void
}

export const make = (wire: Wire): ServerRequests => {
  /** How often each id is in progress: a server may use one twice. */
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

  const write = (answer: Message, fate?: Fate) => {
    unwritten += 1
    const written = () => {
      unwritten -= 1
      review()
    }
    wire.send(answer, {
      done: () => {
        written()
        fate?.done?.()
      },
      failed: (failure) => {
        written()
        fate?.failed(failure)
      }
    })
    review()
  }

  return {
    admit: ({ id, method }) => {
      // its answer could not be written
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
    answer: (answer, fate) => {
      if (answer.id != null) settled(answer.id)
      write(answer, fate)
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
