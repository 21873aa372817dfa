/**
 * Splits a stream of bytes into lines, one at a time. It takes linear time, however the stream is divided into chunks.
 */
import * as ByteBuffer from "./ByteBuffer.js"

export interface LineReader {
  /** Adds a chunk. */
  readonly push: (chunk: Buffer) => void
  /** Moves to the next complete line. Returns whether there is one. */
  readonly next: () => boolean
  /** The size of the line in bytes. */
  readonly size: () => number
  /** The first byte of the line that is neither white space nor part of a byte order mark; 0 if there is none. */
  readonly firstByte: () => number
  /** The line as bytes. */
  readonly bytes: () => Buffer
  /** The line as text, or the first bytes of it. */
  readonly text: (maxBytes?: number) => string
}

export const make = (options: {
  /** The maximum size of a line in bytes. A longer line is discarded and reported as overflow. */
  readonly limit: number
  readonly overflow: () => void
  /** Whether a carriage return ends a line as well, alone or before a line feed. */
  readonly carriageReturns?: boolean | undefined
}): LineReader => {
  const chunks: Array<Buffer> = []
  /** The beginning of a line whose end has not arrived. */
  const begun = ByteBuffer.make()
  /** The position of the next line in the first chunk. */
  let position = 0
  /**
   * The position of the next carriage return in the first chunk, or the chunk's length if it has none; smaller than `position`
   * before it is searched.
   */
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

/** The maximum number of bytes skipped. A line that begins with more white space holds no message. */
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
