import * as ByteBuffer from "./ByteBuffer.js"

/**
 * Cuts a stream of bytes into lines, one at a time, in time linear in its length however it is chopped up.
 */
export interface LineReader {
  /** Takes what has arrived. */
  readonly push: (chunk: Buffer) => void
  /** Goes to the next line. Whether there is one that is complete. */
  readonly next: () => boolean
  /** Bytes of the line. */
  readonly size: () => number
  /** The first byte of the line that is neither white space nor part of a byte order mark; 0 if there is none. */
  readonly firstByte: () => number
  /** The line as bytes. */
  readonly bytes: () => Buffer
  /** The line, or its beginning. */
  readonly text: (maxBytes?: number) => string
}

export const make = (options: {
  /** Bytes. A longer line is not read to its end. */
  readonly limit: number
  readonly overflow: () => void
  /** Whether a carriage return ends a line as well, alone or before a line feed. */
  readonly carriageReturns?: boolean | undefined
}): LineReader => {
  const chunks: Array<Buffer> = []
  /** The beginning of a line whose end has not arrived. */
  const begun = ByteBuffer.make()
  /** Where the next line begins in the first chunk. */
  let position = 0
  /** A carriage return in the first chunk, or its end; -1 where it was not looked for. */
  let nextReturn = -1
  let afterReturn = false
  let line: Buffer = empty
  let from = 0
  let to = 0

  const endIn = (chunk: Buffer): number => {
    const feed = chunk[position] === lineFeed ? position : chunk.indexOf(lineFeed, position)
    if (options.carriageReturns !== true) return feed
    if (nextReturn < position) {
      const found = chunk.indexOf(carriageReturn, position)
      nextReturn = found === -1 ? chunk.length : found
    }
    if (nextReturn === chunk.length) return feed
    return feed === -1 ? nextReturn : Math.min(feed, nextReturn)
  }

  return {
    push: (chunk) => void chunks.push(chunk),
    next: () => {
      for (let chunk = chunks[0]; chunk !== undefined; chunk = chunks[0]) {
        if (afterReturn && position < chunk.length) {
          afterReturn = false
          if (chunk[position] === lineFeed) position += 1
        }
        const end = position < chunk.length ? endIn(chunk) : -1
        if (end !== -1) {
          line = chunk
          from = position
          to = end
          if (begun.size() > 0) {
            begun.add(chunk.subarray(from, to))
            line = begun.take()
            from = 0
            to = line.length
          }
          afterReturn = chunk[end] === carriageReturn && options.carriageReturns === true
          position = end + 1
          return true
        }
        begun.add(chunk.subarray(position))
        chunks.shift()
        position = 0
        nextReturn = -1
        if (begun.size() > options.limit) {
          begun.take()
          options.overflow()
        }
      }
      line = empty
      from = to = 0
      return false
    },
    size: () => to - from,
    firstByte: () => firstByteOf(line, from, to),
    bytes: () => line.subarray(from, to),
    text: (maxBytes = Number.POSITIVE_INFINITY) => line.toString("utf8", from, Math.min(to, from + maxBytes))
  }
}

/** More white space than this begins no message. */
const maxSkipped = 1024

/** The first byte that is neither white space nor part of a byte order mark; 0 if there is none. */
export const firstByteOf = (bytes: Buffer, from: number, to: number): number => {
  const end = Math.min(to, from + maxSkipped)
  for (let index = from; index < end; index += 1) {
    const byte = bytes[index]!
    if (!isSkipped(byte)) return byte
  }
  return 0
}

const empty = Buffer.alloc(0)
const lineFeed = 0x0a
const carriageReturn = 0x0d

const isSkipped = (byte: number): boolean =>
  byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0xef || byte === 0xbb || byte === 0xbf
