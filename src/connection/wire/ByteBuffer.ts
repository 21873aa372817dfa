/**
 * A buffer for bytes that arrive in pieces. It copies small pieces together, so that they take little more memory than their
 * bytes: as separate buffers, a piece of one byte would take some hundred.
 */
export interface ByteBuffer {
  readonly size: () => number
  readonly add: (piece: Buffer) => void
  /** Returns all bytes and empties the buffer. */
  readonly take: () => Buffer
}

export const make = (): ByteBuffer => {
  let buffer: Buffer = empty
  let size = 0
  /** Whether `buffer` was allocated here. A single piece is stored without a copy. */
  let isOwn = false

  return {
    size: () => size,
    add: (piece) => {
      if (piece.length === 0) return
      const needed = size + piece.length
      if (size === 0) {
        buffer = piece
        isOwn = false
      } else {
        if (!isOwn || needed > buffer.length) {
          const larger = Buffer.allocUnsafe(needed + Math.min(needed, maxSpare))
          buffer.copy(larger, 0, 0, size)
          buffer = larger
          isOwn = true
        }
        piece.copy(buffer, size)
      }
      size = needed
    },
    take: () => {
      const whole = size === buffer.length ? buffer : buffer.subarray(0, size)
      buffer = empty
      size = 0
      return whole
    }
  }
}

const empty = Buffer.alloc(0)

/** The maximum number of bytes allocated in advance. */
const maxSpare = 16 * 1024 * 1024
