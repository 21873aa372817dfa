/**
 * Holds back the end of a connection until its reader has read all that came before.
 *
 * A Node stream tells its end as soon as its buffer is empty, also to a reader that has paused in the middle of the last
 * piece. undici 7 then fails an assertion outside of any promise, which ends the process (nodejs/undici#5360; mended in
 * undici 8, which needs Node 22; a test asks for the removal of this file then). A reader that has asked for more and got
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
      // the reader is in the middle of asking
      process.nextTick(release)
    }
    return chunk
  }
}
