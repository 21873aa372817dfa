/**
 * Bytes that arrive in pieces. However small the pieces are, they take little more memory than their bytes: kept one by one,
 * a piece of one byte would take some hundred.
 */
export interface ByteBuffer {
  readonly size: () => number
  readonly add: (piece: Buffer) => void
  /** All bytes so far. Those that are added later begin anew. */
  readonly take: () => Buffer
}

export const make = (): ByteBuffer => {
  let buffer: Buffer = empty
  let size = 0
  /** A single piece is kept as it is, without a copy. */
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

/** Bytes of room for what comes next, at most. */
const maxSpare = 16 * 1024 * 1024
