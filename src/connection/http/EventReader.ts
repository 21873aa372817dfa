/**
 * The events in the lines of a stream (`text/event-stream`), as bytes. What an event holds until it is complete is limited in
 * bytes and in lines.
 */
import * as ByteBuffer from "../wire/ByteBuffer.js"
import type { LineReader } from "../wire/LineReader.js"
import { maxMessageBytes } from "../wire/Wire.js"

/** Lines of one event. */
export const maxEventLines = 1_000_000

/** Bytes of an event's id. A longer one is not remembered. */
export const maxEventId = 4096

/** Bytes of an event's name. A longer one is none that we know. */
const maxName = 64

export interface Options {
  /** An event is complete. Whether there is a use for it. Without a name, it is a message. */
  readonly event: (name: string, data: Buffer) => boolean
  /** The id of an event that is complete. */
  readonly id: (id: string) => void
  /** Milliseconds the server wants us to wait before we come back. */
  readonly retry: (millis: number) => void
  /** A line of so many bytes that is ignored. */
  readonly stray: (bytes: number) => void
  readonly tooLong: () => void
  readonly tooManyLines: () => void
}

export interface EventReader {
  /** Reads the next line. Gives its weight; 0 if there is none. */
  readonly read: (lines: LineReader) => number
}

export const make = (options: Options): EventReader => {
  const data = ByteBuffer.make()
  let isFirst = true
  /** Of the event that is not complete. */
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
    // each of its lines counts as one
    if (!isUsed) options.stray(size + count * 1024)
    forget()
  }

  const addData = (value: Buffer) => {
    if (hasData) data.add(lineFeed)
    hasData = true
    data.add(value)
  }

  /** Whether a line is part of an event. Comments keep a connection alive, and are nothing else. */
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

/** Nearly every line is one of data. */
const isData = (line: Buffer): boolean =>
  line[0] === 0x64 && line[1] === 0x61 && line[2] === 0x74 && line[3] === 0x61 && line[4] === colon

/** What a line weighs besides its bytes. */
const lineWeight = 32

const colon = 0x3a
const space = 0x20
const lineFeed = Buffer.from("\n")
const byteOrderMark = Buffer.from("\ufeff")
/** The longest name of a field, `event` or `retry`. */
const longestField = 5
