/**
 * Reads the messages in the texts of a stream, one at a time. A peer may put many messages into one text. A long text is
 * scanned before it is parsed, because only a response that is waited for may be long.
 */
import { messageWeight } from "./Intake.js"
import { firstByteOf, type LineReader } from "./LineReader.js"
import { type MessageHead, scanMessage } from "./scanMessage.js"
import { maxMessageValues, type Message, type MessageId, parseMessages, valueBytes, type WireEvents } from "./Wire.js"

export interface MessageReader {
  /** Passes on the next message of the last text and returns its weight, or 0 if no message is left. */
  readonly next: () => number
  /** Reads the next line and returns its weight, or 0 if there is none. */
  readonly read: (lines: LineReader) => number
  /** Reads a text. */
  readonly take: (bytes: Buffer) => Taken
}

/** Whether a text holds messages. "dropped": it holds messages, but exceeds a limit. */
export type Taken = "messages" | "dropped" | "nothing"

export interface Options {
  readonly message: WireEvents["message"]
  /** Whether a request with this id waits for its response. */
  readonly awaits: (id: MessageId) => boolean
  /** Called for a text of this many bytes that is too long for the kind of its messages. */
  readonly dropped: (envelopes: ReadonlyArray<MessageHead>, bytes: number) => void
  /** Called for a text that would block the event loop if it were parsed. */
  readonly tooManyValues: () => void
  /** Called for a line that holds no message. */
  readonly stray?: ((bytes: number, text: () => string) => void) | undefined
}

/**
 * The maximum size in bytes of a text that is no awaited response, such as a notification or a request of the server. Each
 * value and key adds {@link valueBytes}. A request of a server may hold a picture.
 */
export const maxUnaskedBytes = 8 * 1024 * 1024

/** The size from which a text is scanned. A shorter text is within all limits, because a value takes at least two bytes. */
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

  /** Whether a long text may be parsed. Reports it otherwise. */
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
      // Anything else is no message; it is not decoded as text.
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

/** The weight of a line that holds no message. */
const strayWeight = 16

/** The number of bytes of such a line that are passed on. */
const maxStray = 64 * 1024
