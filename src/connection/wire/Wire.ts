/**
 * The interface of a wire, which sends and receives JSON-RPC messages and reports one reason when it closes. A wire knows no
 * MCP method.
 */
import { UnexpectedFailure } from "../../domain/Errors.js"
import type * as Errors from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { MessageHead } from "./scanMessage.js"

/** The id that connects a request with its response. */
export type MessageId = string | number

/** Any JSON-RPC message. Its content is not interpreted here. */
export interface Message {
  readonly jsonrpc: "2.0"
  readonly id?: MessageId | null | undefined
  readonly method?: string | undefined
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** The callbacks of a wire while it is open. None of them may throw. */
export interface WireEvents {
  /** A message, and the text it was parsed from. */
  readonly message: (message: Message, text: string) => void
  /** Whether a request with this id waits for its response. */
  readonly awaits: (id: MessageId) => boolean
  /** Messages that were dropped because they are too long for their kind: a text of this many bytes. */
  readonly dropped: (envelopes: ReadonlyArray<MessageHead>, bytes: number) => void
  /** Nothing more can be sent, but requests that were sent may still receive a response. `closed` follows. */
  readonly closing: (reason: Errors.ConnectionError) => void
  /** Called once, as the last event. */
  readonly closed: (reason: Errors.ConnectionError) => void
  /** The state of the channel for notifications and requests of the server. */
  readonly push: (push: Protocol.Push) => void
}

/** The callbacks for one message. Either `done` or `failed` is called, once. */
export interface SendCallbacks {
  /** From now on the server may have received the message. */
  readonly sent?: (() => void) | undefined
  /** The message was sent and, on wires with one exchange per request, the exchange has ended. */
  readonly done?: (() => void) | undefined
  readonly failed: (failure: WireFailure) => void
}

export interface Wire {
  readonly transport: Protocol.Transport
  readonly pid?: number | undefined
  /** Never throws. The headers are sent with this message only; wires without headers ignore them. */
  readonly send: (message: Message, callbacks: SendCallbacks, headers?: Readonly<Record<string, string>>) => void
  /** Withdraws a request that has not been sent, and ends the exchange of one that waits for its response. */
  readonly retract: (id: MessageId) => void
  /** Sets the negotiated protocol revision, for wires that send it. */
  readonly agreed: (revision: string) => void
  /** Stops reading until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
}

/**
 * How far a message came. "unsent": it has not left this process. "refused": the server refused it, and the reason is its
 * response. "sent": it may have arrived, and the reason is not a response to it.
 */
export type Stage = "unsent" | "refused" | "sent"

/** Why a message could not be sent, or its response not be received. */
export class WireFailure extends Error {
  override name = "WireFailure"
  readonly reason: Errors.ConnectionError
  readonly stage: Stage
  /** Whether the connection is no longer usable. */
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

/** A message as text, or the failure: arguments come from callers and may not be serialisable. */
export const serialise = (server: string, message: Message): string | WireFailure => {
  try {
    return JSON.stringify(message)
  } catch (error) {
    const detail = `what is to be sent is no JSON: ${error instanceof Error ? error.message : "it cannot be read"}`
    return new WireFailure(new UnexpectedFailure({ server, detail: detail.slice(0, 300) }), "unsent")
  }
}

/**
 * The maximum size of a message in bytes. A longer message closes the connection: no server sends one on purpose, and it would
 * fill the memory.
 */
export const maxMessageBytes = 32 * 1024 * 1024

/**
 * The maximum number of values and keys in one message. Parsing takes time and memory for each of them, not for each byte, and
 * a message is parsed in one step: this many may take half a second.
 */
export const maxMessageValues = 1_000_000

/**
 * The number of bytes that a value or key counts in addition to its text. Most take less in memory; objects without common keys
 * take up to about twice as much.
 */
export const valueBytes = 32

/** The messages in a text: one, several if the peer sends a batch, or none in any other text. */
export const parseMessages = (text: string): ReadonlyArray<Message> => {
  try {
    // Some peers send a byte order mark first.
    const value: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
    if (Array.isArray(value)) return value.filter(isMessage)
    return isMessage(value) ? [value] : []
  } catch {
    return []
  }
}

/** A response with neither a result nor an error counts as a message: the request that it names must not keep waiting. */
const isMessage = (value: unknown): value is Message => {
  if (typeof value !== "object" || value === null || (value as Message).jsonrpc !== "2.0") return false
  const { id, method } = value as Message
  if (typeof method === "string" || "result" in value || "error" in value) return true
  return method === undefined && (typeof id === "string" || typeof id === "number")
}
