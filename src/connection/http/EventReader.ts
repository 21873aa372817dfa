/**
 * Parses the lines of a `text/event-stream` into events. The size of an incomplete event is limited in bytes and in lines.
 */
import * as ByteBuffer from "../wire/ByteBuffer.js"
import type { LineReader } from "../wire/LineReader.js"
import { maxMessageBytes } from "../wire/Wire.js"

/** The maximum number of lines of one event. */
export const maxEventLines = 1_000_000

/** The maximum number of bytes of an event id. A longer one is ignored. */
export const maxEventId = 4096

/** The maximum number of bytes of an event name. All known names are shorter; the rest is cut. */
const maxName = 64

export interface Options {
  /** A complete event. Returns whether it was used. An event without a name is a message. */
  readonly event: (name: string, data: Buffer) => boolean
  /** The id of a complete event. */
  readonly id: (id: string) => void
  /** The time in milliseconds after which the server wants the client to reconnect. */
  readonly retry: (millis: number) => void
  /** An ignored line, or an unused event, of this many bytes. */
  readonly stray: (bytes: number) => void
  readonly tooLong: () => void
  readonly tooManyLines: () => void
}

export interface EventReader {
  /** Reads the next line. Returns its weight, or 0 if there is none. */
  readonly read: (lines: LineReader) => number
}

export const make = (options: Options): EventReader => {
  const data = ByteBuffer.make()
  let isFirst = true
  /** The state of the incomplete event: its bytes, lines, data, name and id. */
  let size = 0
  let count = 0
  let hasData = false
  let name = ""
  let id: string | undefined

  const forget = () => {
    size = 0
    count = 0
    hasData = false
    name = ""
    id = undefined
  }

  const complete = () => {
    if (id !== undefined) options.id(id)
    const isUsed = hasData && options.event(name, data.take())
    // Each line counts like a stray line: one kilobyte.
    if (!isUsed) options.stray(size + count * 1024)
    forget()
  }

  const addData = (value: Buffer) => {
    if (hasData) data.add(lineFeed)
    hasData = true
    data.add(value)
  }

  /** Reads a line of an event. Returns false if it is none, such as a comment, which only keeps the connection alive. */
  const readField = (line: Buffer): boolean => {
    if (isData(line)) {
      addData(line.subarray(line[5] === space ? 6 : 5))
      return true
    }
    const end = line.indexOf(colon)
    const nameEnd = end === -1 ? line.length : end
    const from = end === -1 ? line.length : line[end + 1] === space ? end + 2 : end + 1
    if (nameEnd > longestField) return false
    switch (line.toString("latin1", 0, nameEnd)) {
      case "data":
        addData(line.subarray(from))
        return true
      case "event":
        name = line.toString("utf8", from, from + maxName)
        return true
      case "id":
        if (line.length - from <= maxEventId && line.indexOf(0, from) === -1) id = line.toString("utf8", from)
        return true
      case "retry": {
        const millis = line.toString("latin1", from, from + maxName)
        if (/^\d+$/.test(millis)) options.retry(Number(millis))
        return true
      }
      default:
        return false
    }
  }

  const readLine = (line: Buffer) => {
    if (line.length === 0) return complete()
    if (!readField(line)) return options.stray(line.length)
    count += 1
    size += line.length
    if (count > maxEventLines) options.tooManyLines()
    else if (size > maxMessageBytes) options.tooLong()
    else return
    data.take()
    forget()
  }

  return {
    read: (lines) => {
      if (!lines.next()) return 0
      const line = lines.bytes()
      const isMarked = isFirst && line.subarray(0, byteOrderMark.length).equals(byteOrderMark)
      isFirst = false
      readLine(isMarked ? line.subarray(byteOrderMark.length) : line)
      return lineWeight + line.length
    }
  }
}

/** Fast path: nearly all lines are data. */
const isData = (line: Buffer): boolean =>
  line[0] === 0x64 && line[1] === 0x61 && line[2] === 0x74 && line[3] === 0x61 && line[4] === colon

/** The weight of a line in addition to its bytes. */
const lineWeight = 32

const colon = 0x3a
const space = 0x20
const lineFeed = Buffer.from("\n")
const byteOrderMark = Buffer.from("\ufeff")
/** The length of the longest field names, `event` and `retry`. */
const longestField = 5
