/**
 * Bytes that arrive in pieces. They take little more memory than their bytes, however small the pieces are (kept one by one, a
 * piece of one byte would take some hundred) and however many there are (nothing that was added is moved before it is taken).
 */
export interface ByteBuffer {
  readonly size: () => number
  readonly add: (piece: Buffer) => void
  /** All bytes so far. Those that are added later begin anew. */
  readonly take: () => Buffer
}

/** A piece of this size is kept as it is: what it may be a part of is not much larger. */
const largePiece = 16 * 1024

const smallestBlock = 1024
const largestBlock = 64 * 1024

export const make = (): ByteBuffer => {
  let size = 0
  /** The only piece so far: it is kept as it is, without a copy. */
  let only: Buffer | undefined
  let parts: Array<Buffer> = []
  /** Where small pieces are copied to. */
  let block = empty
  let used = 0

  const closeBlock = () => {
    if (used === 0) return
    parts.push(block.subarray(0, used))
    block = block.subarray(used)
    used = 0
  }

  const copy = (piece: Buffer) => {
    for (let copied = 0; copied < piece.length; ) {
      if (used === block.length) {
        closeBlock()
        block = Buffer.allocUnsafeSlow(Math.min(largestBlock, Math.max(smallestBlock, 2 * size)))
      }
      const count = piece.copy(block, used, copied)
      used += count
      copied += count
    }
  }

  const append = (piece: Buffer) => {
    if (piece.length < largePiece) return copy(piece)
    closeBlock()
    parts.push(piece)
  }

  return {
    size: () => size,
    add: (piece) => {
      if (piece.length === 0) return
      size += piece.length
      if (size === piece.length) {
        only = piece
        return
      }
      if (only !== undefined) append(only)
      only = undefined
      append(piece)
    },
    take: () => {
      closeBlock()
      const whole = only ?? (parts.length === 1 ? parts[0]! : Buffer.concat(parts, size))
      size = 0
      only = undefined
      parts = []
      block = empty
      return whole
    }
  }
}

const empty = Buffer.alloc(0)
