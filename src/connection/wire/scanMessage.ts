/**
 * Counts the values of a long text and finds the ids and methods of its messages, before it is parsed. Parsing takes time and
 * memory for each value; a scan takes neither.
 */
import type { MessageId } from "./Wire.js"

/** The id and method of a message. A response has no method. */
export interface MessageHead {
  readonly id: MessageId | undefined
  readonly method: string | undefined
}

export interface Scan {
  /** The number of values and keys. Counting stops above the limit. */
  readonly values: number
  /** Whether a message may be a response that is waited for. */
  readonly isAwaited: boolean
  /** The first messages: one, or several if the peer sends a batch. */
  readonly envelopes: ReadonlyArray<MessageHead>
}

/** The maximum number of messages of a batch that are returned. */
const maxEnvelopes = 64

/** The maximum size of an id or method in bytes. A longer one belongs to no known message. */
const maxWord = 1024

/** Scans a text. The result for a text that is no JSON is meaningless, but the scan always ends. */
export const scanMessage = (bytes: Buffer, limit: number, awaits: (id: MessageId) => boolean): Scan => {
  const envelopes: Array<MessageHead> = []
  let values = 1
  let isAwaited = false
  let depth = 0
  /** The depth of the keys of a message. The messages of a batch are one level deeper. */
  let level = 0
  let id: unknown
  let method: unknown

  const endMessage = () => {
    if (method === undefined && isId(id) && awaits(id)) isAwaited = true
    if (envelopes.length < maxEnvelopes) {
      envelopes.push({ id: isId(id) ? id : undefined, method: method === undefined ? undefined : String(method) })
    }
    id = method = undefined
  }

  /** A string before a colon is a key. Reads its value if the key is `id` or `method`. */
  const readKey = (from: number, end: number) => {
    const at = nextByte(bytes, end + 1)
    if (bytes[at] !== colon) return
    const key = wordAt(bytes, from)
    if (key === "id") id = wordAt(bytes, nextByte(bytes, at + 1))
    else if (key === "method") method = wordAt(bytes, nextByte(bytes, at + 1)) ?? ""
  }

  for (let at = 0; at < bytes.length && values <= limit; at += 1) {
    const byte = bytes[at]
    if (byte === quote) {
      const end = endOfString(bytes, at)
      if (end === -1) break
      if (depth === level) readKey(at, end)
      at = end
    } else if (byte === comma || byte === colon) {
      values += 1
    } else if (byte === openingBrace || byte === openingBracket) {
      depth += 1
      if (level === 0) level = byte === openingBrace ? 1 : 2
      // Counts the first value; each further one has a comma before it.
      const next = bytes[nextByte(bytes, at + 1)]
      if (next !== closingBrace && next !== closingBracket) values += 1
    } else if (byte === closingBrace || byte === closingBracket) {
      if (depth === level) endMessage()
      depth -= 1
    }
  }
  return { values, isAwaited, envelopes }
}

const isId = (value: unknown): value is MessageId => typeof value === "string" || typeof value === "number"

/** The string, number or other plain value at an index, if it is short. */
const wordAt = (bytes: Buffer, from: number): unknown => {
  const end = bytes[from] === quote ? endOfString(bytes, from, from + maxWord) + 1 : endOfPlain(bytes, from)
  if (end === 0 || end - from > maxWord) return undefined
  try {
    return JSON.parse(bytes.toString("utf8", from, end))
  } catch {
    return undefined
  }
}

const endOfPlain = (bytes: Buffer, from: number): number => {
  let at = from
  while (at < bytes.length && at - from <= maxWord && !isEnd(bytes[at]!)) at += 1
  return at
}

const isEnd = (byte: number): boolean => byte === comma || byte === closingBrace || isWhite(byte)

const isWhite = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const nextByte = (bytes: Buffer, from: number): number => {
  let at = from
  while (at < bytes.length && isWhite(bytes[at]!)) at += 1
  return at
}

/** The number of bytes that are compared one by one. Most strings are short, and `indexOf` has a fixed cost. */
const shortString = 32

/** The index of the quote that ends the string which begins at `from`; -1 if there is none. */
const endOfString = (bytes: Buffer, from: number, until = bytes.length): number => {
  const near = Math.min(until, from + shortString)
  let at = from + 1
  while (at < near) {
    const byte = bytes[at]
    if (byte === quote) return at
    at += byte === backslash ? 2 : 1
  }
  for (at = bytes.indexOf(quote, at); at !== -1 && at < until; at = bytes.indexOf(quote, at + 1)) {
    let before = at - 1
    while (bytes[before] === backslash) before -= 1
    // An even number of backslashes escapes itself, not the quote.
    if ((at - before) % 2 === 1) return at
  }
  return -1
}

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c]
const [openingBrace, closingBrace, openingBracket, closingBracket] = [0x7b, 0x7d, 0x5b, 0x5d]
