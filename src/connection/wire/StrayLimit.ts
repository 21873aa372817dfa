/**
 * How much a server may write that is no message. Banners and debug output stay far below it; a server that writes such
 * lines without pause is above it within a moment.
 */
import type { Envelope } from "./scanMessage.js"

/** Lines at once. Of a long line each kilobyte counts as one more. */
export const maxStrayLines = 100_000

/** Lines a second that are forgotten again: a server may write this many for ever. */
export const strayLinesPerSecond = 1000

export interface StrayLimit {
  /** Counts a line of so many bytes. Whether the limit is exceeded. */
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
 * What a dropped text counts with. An answer alone counts as one line: it may have come too late for a call that was given up,
 * which is no fault of the server.
 */
export const bytesOfDropped = (envelopes: ReadonlyArray<Envelope>, bytes: number): number =>
  envelopes.every(({ id, method }) => method === undefined && id !== undefined) ? 0 : bytes

export const strayDetail = `it wrote more than ${maxStrayLines} lines that are no messages; see its log, and have it write to stderr`
