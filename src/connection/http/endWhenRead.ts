/**
 * Delays the end of a connection until its reader has read everything before it.
 *
 * A Node.js stream reports its end as soon as its buffer is empty, even to a reader that has paused in the middle of the last
 * chunk. undici 7 then fails an assertion outside of any promise, which ends the process (nodejs/undici#5360; fixed in undici
 * 8, which needs Node.js 22; a test reports when this file can be removed). A reader that has requested more and received
 * nothing is not paused.
 */
import type { Socket } from "node:net"
import type { buildConnector } from "undici"

export const endWhenRead =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
      if (error !== null) return callback(error, null)
      holdEnd(socket)
      callback(null, socket)
    })

const holdEnd = (socket: Socket) => {
  const push = socket.push.bind(socket)
  const read = socket.read.bind(socket)
  let hasAskedForMore = true
  let isHeld = false

  const release = () => {
    push(null)
    read(0)
  }
  socket.push = (chunk, encoding) => {
    if (chunk === null && !hasAskedForMore) {
      isHeld = true
      return false
    }
    hasAskedForMore = false
    return push(chunk, encoding)
  }
  socket.read = (size) => {
    const chunk = read(size)
    if (size === 0) return chunk
    hasAskedForMore = chunk === null
    if (hasAskedForMore && isHeld) {
      isHeld = false
      // The reader is inside `read`: the end must not be reported synchronously.
      process.nextTick(release)
    }
    return chunk
  }
}
