/**
 * The messages in the texts of a stream, one at a time: a peer may put many into one text.
 */
import { messageWeight } from "./Intake.js"
import type { LineReader } from "./LineReader.js"
import { hasTooManyValues, type Message, parseMessages, type WireEvents } from "./Wire.js"

export interface MessageReader {
  /** Hands over the next message of the text that was read last, and gives its weight; 0 if there is none left. */
  readonly next: () => number
  /** Reads the next line. Gives its weight; 0 if there is none. */
  readonly read: (lines: LineReader) => number
  /** Reads a text. Whether there is a message in it. */
  readonly take: (text: string) => boolean
}

export const make = (options: {
  readonly message: WireEvents["message"]
  /** A text that would block the event loop if it were parsed. */
  readonly tooManyValues: () => void
  /** A line that holds no message. */
  readonly stray?: ((bytes: number, text: () => string) => void) | undefined
}): MessageReader => {
  let messages: ReadonlyArray<Message> = none
  let text = ""
  let index = 0

  const next = () => {
    const message = messages[index]
    if (message === undefined) return 0
    const from = text
    index += 1
    if (index === messages.length) {
      messages = none
      text = ""
    }
    options.message(message, from)
    return messageWeight
  }

  const take = (read: string): boolean => {
    if (hasTooManyValues(read)) {
      options.tooManyValues()
      return true
    }
    messages = parseMessages(read)
    text = messages === none ? "" : read
    index = 0
    return messages.length > 0
  }

  return {
    next,
    take,
    read: (lines) => {
      if (!lines.next()) return 0
      const bytes = lines.size()
      const first = lines.firstByte()
      // what begins otherwise is no message, and does not even have to become a text
      if ((first === openingBrace || first === openingBracket) && take(lines.text())) return next() + bytes
      options.stray?.(bytes, () => lines.text(maxStray))
      return strayWeight + bytes
    }
  }
}

const none: ReadonlyArray<Message> = []
const openingBrace = 0x7b
const openingBracket = 0x5b

/** What a line weighs that holds no message. */
const strayWeight = 16

/** Bytes of such a line that are looked at. */
const maxStray = 64 * 1024
