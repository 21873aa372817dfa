/**
 * The messages in the texts of a stream, one at a time: a peer may put many into one text. A long text is looked at before it
 * is parsed. Only an answer that is waited for may be long.
 */
import { messageWeight } from "./Intake.js"
import { firstByteOf, type LineReader } from "./LineReader.js"
import { type Envelope, scanMessage } from "./scanMessage.js"
import { maxMessageValues, type Message, type MessageId, parseMessages, valueBytes, type WireEvents } from "./Wire.js"

export interface MessageReader {
  /** Hands over the next message of the text that was read last, and gives its weight; 0 if there is none left. */
  readonly next: () => number
  /** Reads the next line. Gives its weight; 0 if there is none. */
  readonly read: (lines: LineReader) => number
  /** Reads a text. */
  readonly take: (bytes: Buffer) => Taken
}

/** Whether a text holds messages. Those of one that is too long were dropped. */
export type Taken = "messages" | "dropped" | "nothing"

export interface Options {
  readonly message: WireEvents["message"]
  /** Whether an answer with this id is waited for. */
  readonly awaits: (id: MessageId) => boolean
  /** A text of so many bytes was too long for what it is. */
  readonly dropped: (envelopes: ReadonlyArray<Envelope>, bytes: number) => void
  /** A text that would block the event loop if it were parsed. */
  readonly tooManyValues: () => void
  /** A line that holds no message. */
  readonly stray?: ((bytes: number, text: () => string) => void) | undefined
}

/**
 * Bytes of a text that answers no request of ours, such as a notification or a question, with {@link valueBytes} for each of
 * its values and keys. A question may hold a picture.
 */
export const maxUnaskedBytes = 8 * 1024 * 1024

/** A shorter text is within all limits: a value takes two bytes at least. */
const scannedFrom = Math.floor(maxUnaskedBytes / (1 + valueBytes / 2))

export const make = (options: Options): MessageReader => {
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

  const parse = (read: string): Taken => {
    messages = parseMessages(read)
    text = messages.length === 0 ? "" : read
    index = 0
    return messages.length === 0 ? "nothing" : "messages"
  }

  /** Whether a long text may be parsed. */
  const admits = (bytes: Buffer): boolean => {
    const { envelopes, isAwaited, values } = scanMessage(bytes, maxMessageValues, options.awaits)
    if (values > maxMessageValues) options.tooManyValues()
    else if (isAwaited || bytes.length + values * valueBytes <= maxUnaskedBytes) return true
    else options.dropped(envelopes, bytes.length)
    return false
  }

  return {
    next,
    take: (bytes) => {
      if (!beginsMessage(firstByteOf(bytes, 0, bytes.length))) return "nothing"
      if (bytes.length >= scannedFrom && !admits(bytes)) return "dropped"
      return parse(bytes.toString("utf8"))
    },
    read: (lines) => {
      if (!lines.next()) return 0
      const size = lines.size()
      // what begins otherwise is no message, and does not even have to become a text
      if (beginsMessage(lines.firstByte())) {
        if (size >= scannedFrom && !admits(lines.bytes())) return messageWeight + size
        if (parse(lines.text()) === "messages") return next() + size
      }
      options.stray?.(size, () => lines.text(maxStray))
      return strayWeight + size
    }
  }
}

const beginsMessage = (first: number): boolean => first === openingBrace || first === openingBracket

const none: ReadonlyArray<Message> = []
const openingBrace = 0x7b
const openingBracket = 0x5b

/** What a line weighs that holds no message. */
const strayWeight = 16

/** Bytes of such a line that are looked at. */
const maxStray = 64 * 1024
