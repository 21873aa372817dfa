/**
 * Limits how many lines a server may write that are no messages. Banners and debug output stay far below the limit; a server
 * that writes such lines without pause exceeds it within a moment.
 */
import type { MessageHead } from "./scanMessage.js"

/** The maximum number of lines at once. Each kilobyte of a long line counts as one more line. */
export const maxStrayLines = 100_000

/** The number of lines that are subtracted per second: a server may write at this rate forever. */
export const strayLinesPerSecond = 1000

export interface StrayLimit {
  /** Counts a line of this many bytes. Returns whether the limit is exceeded. */
  readonly count: (bytes: number) => boolean
}

export const make = (now: () => number = () => performance.now()): StrayLimit => {
  let level = 0
  let since = now()
  return {
    count: (bytes) => {
      level += 1 + Math.floor(bytes / 1024)
      if (level <= maxStrayLines) return false
      const time = now()
      level = Math.max(0, level - ((time - since) * strayLinesPerSecond) / 1000)
      since = time
      return level > maxStrayLines
    }
  }
}

/**
 * The number of bytes that a dropped text counts. A text that only holds responses counts as one empty line: the response may
 * belong to a call that the client cancelled, which is not a fault of the server.
 */
export const bytesOfDropped = (envelopes: ReadonlyArray<MessageHead>, bytes: number): number =>
  envelopes.every(({ id, method }) => method === undefined && id !== undefined) ? 0 : bytes

export const strayDetail = `it wrote more than ${maxStrayLines} lines that are no messages; see its log, and have it write to stderr`
