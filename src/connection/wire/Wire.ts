/**
 * The way to one server: messages out, messages in, and the one reason why it ended. What is on the wire is decided above;
 * a wire only knows how to carry it.
 */
import { UnexpectedFailure } from "../../domain/Errors.js"
import type * as Errors from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { Envelope } from "./scanMessage.js"

/** The name by which a request and its answer find each other. */
export type MessageId = string | number

/** Any JSON-RPC message. Only its envelope is known here. */
export interface Message {
  readonly jsonrpc: "2.0"
  readonly id?: MessageId | null | undefined
  readonly method?: string | undefined
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** What a wire tells while it is open. None of these may throw. */
export interface WireEvents {
  /** A message, and the text that it stood in. */
  readonly message: (message: Message, text: string) => void
  /** Whether an answer with this id is waited for. */
  readonly awaits: (id: MessageId) => boolean
  /** Messages that were too long for what they are: a text of so many bytes. */
  readonly dropped: (envelopes: ReadonlyArray<Envelope>, bytes: number) => void
  /** Nothing more can be sent, but what was sent may still be answered. `closed` follows. */
  readonly closing: (reason: Errors.ConnectionError) => void
  /** Said once, and last. */
  readonly closed: (reason: Errors.ConnectionError) => void
  /** The state of the channel for what the server says unasked. */
  readonly push: (push: Protocol.Push) => void
}

/** What becomes of a message. `done` or `failed` is told, once. */
export interface Fate {
  /** From now on the server may have seen it. */
  readonly sent?: (() => void) | undefined
  /** It has gone out and, where each request has an exchange of its own, that is over. */
  readonly done?: (() => void) | undefined
  readonly failed: (failure: WireFailure) => void
}

export interface Wire {
  readonly transport: Protocol.Transport
  readonly pid?: number | undefined
  /** Never throws. The headers go with this message only, where the wire has headers. */
  readonly send: (message: Message, fate: Fate, headers?: Readonly<Record<string, string>>) => void
  /** Takes a request back if it has not left, and ends the wait for its answer where the wire waits for one. */
  readonly retract: (id: MessageId) => void
  /** The revision that was agreed on, for wires that mention it. */
  readonly agreed: (revision: string) => void
  /** Nothing that the server writes is read until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
}

/**
 * How far a message came: it has not left us; it was answered, but not as hoped, and the reason is that answer; or it may
 * have arrived, and whatever the reason is, it is not an answer to it.
 */
export type Stage = "unsent" | "refused" | "sent"

/** Why a message could not be delivered, or its answer not be received. */
export class WireFailure extends Error {
  override name = "WireFailure"
  readonly reason: Errors.ConnectionError
  readonly stage: Stage
  /** Whether the connection is of no more use. */
  readonly ends: boolean
  constructor(reason: Errors.ConnectionError, stage: Stage, ends = false) {
    super(reason.message)
    this.reason = reason
    this.stage = stage
    this.ends = ends
  }
}

export const isRequest = (message: Message): message is Message & { readonly id: MessageId } =>
  message.method !== undefined && message.id !== undefined && message.id !== null

/** A message as text, if it can be one: arguments come from outside, and not everything is JSON. */
export const serialise = (server: string, message: Message): string | WireFailure => {
  try {
    return JSON.stringify(message)
  } catch (error) {
    const detail = `what is to be sent is no JSON: ${error instanceof Error ? error.message : "it cannot be read"}`
    return new WireFailure(new UnexpectedFailure({ server, detail: detail.slice(0, 300) }), "unsent")
  }
}

/** Bytes. Longer messages end the connection: none is sent on purpose, and they would fill the memory. */
export const maxMessageBytes = 32 * 1024 * 1024

/**
 * Values and keys of one message. Parsing takes time and memory for each of them, not for each byte, and a message is parsed
 * in one step: this many may take half a second.
 */
export const maxMessageValues = 1_000_000

/**
 * Bytes that a value or a key counts with besides its text. In memory most take less, and none takes much more than twice as
 * much: objects that have no key in common do.
 */
export const valueBytes = 32

/** The messages in a text: one, or several where the peer batches them. In anything else there is none. */
export const parseMessages = (text: string): ReadonlyArray<Message> => {
  try {
    // some put a byte order mark before it
    const value: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
    if (Array.isArray(value)) return value.filter(isMessage)
    return isMessage(value) ? [value] : []
  } catch {
    return []
  }
}

/** An answer with neither a result nor an error is one: the request that it names must not wait for a better one. */
const isMessage = (value: unknown): value is Message => {
  if (typeof value !== "object" || value === null || (value as Message).jsonrpc !== "2.0") return false
  const { id, method } = value as Message
  if (typeof method === "string" || "result" in value || "error" in value) return true
  return method === undefined && (typeof id === "string" || typeof id === "number")
}
