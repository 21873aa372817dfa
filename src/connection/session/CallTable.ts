/**
 * The pending tool calls of one session in the legacy era. They bypass the SDK, for two reasons: calls are the most frequent
 * requests, and the SDK costs several times as much; and this table knows exactly whether a call was sent.
 */
import * as Exit from "effect/Exit"
import { type ConnectionError, CallTimeout } from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { callResult, invalidResult, protocolError, requestFailure } from "./results.js"
import type { Clocks, Limits, Deadlines } from "./Clocks.js"
import type { RequestError } from "../Session.js"
import type { Scrubbers } from "./shown.js"
import { type Message, type MessageId, type Wire, WireFailure } from "../wire/Wire.js"

export type Settled = Exit.Exit<Protocol.CallToolResult, RequestError>

export interface ToolCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly limits: Limits
  readonly onProgress: (progress: Protocol.Progress) => void
  /** Called once. */
  readonly settle: (settled: Settled) => void
}

export interface CallTable {
  /** Sends a call. The returned function cancels it: the server is notified, and `settle` is not called. */
  readonly call: (call: ToolCall) => () => void
  /** Whether a call with this id waits for its response. */
  readonly awaits: (id: MessageId) => boolean
  /** Handles a message. Returns whether it belongs to a call. */
  readonly accept: (message: Message) => boolean
  /** Fails all calls, because the connection has ended. */
  readonly abandon: (reason: ConnectionError) => void
}

interface Pending {
  readonly call: ToolCall
  readonly clock: Deadlines
  sent: boolean
}

/** The prefix of the request ids. The SDK uses numbers as ids, so both cannot be confused. */
const prefix = "call-"

export interface Options extends Scrubbers {
  readonly server: string
  readonly wire: Wire
  readonly clocks: Clocks
}

export const make = (options: Options): CallTable => {
  const { clocks, server, wire } = options
  const pending = new Map<string, Pending>()
  let count = 0
  let endReason: ConnectionError | undefined

  const take = (id: unknown): Pending | undefined => {
    const entry = pending.get(id as string)
    if (entry === undefined) return undefined
    pending.delete(id as string)
    clocks.stop(entry.clock)
    return entry
  }

  const fail = (id: string, error: (entry: Pending) => RequestError) => {
    const entry = take(id)
    entry?.call.settle(Exit.fail(error(entry)))
  }

  const read = ({ error, result }: Message): Settled => {
    try {
      return error === undefined ? callResult(server, result) : Exit.fail(protocolError(server, error, options))
    } catch {
      // The value is nested too deeply for the stack.
      return Exit.fail(invalidResult(server, [], result))
    }
  }

  const giveUp = (id: string, { sent }: Pending) => {
    wire.retract(id)
    if (sent) wire.send(cancelled(id), { failed: ignore })
  }

  return {
    call: (call) => {
      count += 1
      const id = `${prefix}${count}`
      if (endReason !== undefined) {
        call.settle(Exit.fail(requestFailure(server, new WireFailure(endReason, "unsent"))))
        return ignore
      }
      const clock = clocks.start(call.limits, (which) =>
        fail(id, (entry) => {
          giveUp(id, entry)
          return new CallTimeout({ server, which, sent: entry.sent, after: call.limits[which] })
        })
      )
      const entry: Pending = { call, clock, sent: false }
      pending.set(id, entry)
      wire.send(request(id, call), {
        sent: () => {
          entry.sent = true
        },
        failed: (failure) => fail(id, () => requestFailure(server, failure))
      })
      return () => {
        if (take(id) !== undefined) giveUp(id, entry)
      }
    },
    awaits: (id) => pending.has(id as string),
    accept: (message) => {
      const { id } = message
      if (message.method === undefined) {
        // A late response belongs to no pending call, but it does not belong to the SDK either.
        if (typeof id !== "string" || !id.startsWith(prefix)) return false
        take(id)?.call.settle(read(message))
        return true
      }
      if (message.method !== "notifications/progress") return false
      const params = message.params as (Protocol.Progress & { readonly progressToken?: unknown }) | undefined
      const token = params?.progressToken
      if (typeof token !== "string" || !token.startsWith(prefix)) return false
      const entry = pending.get(token)
      if (entry !== undefined && params !== undefined && typeof params.progress === "number") {
        clocks.touch(entry.clock)
        entry.call.onProgress(withoutToken(params))
      }
      return true
    },
    abandon: (reason) => {
      endReason ??= reason
      for (const id of pending.keys()) {
        fail(id, (entry) => requestFailure(server, new WireFailure(reason, entry.sent ? "sent" : "unsent")))
      }
    }
  }
}

const request = (id: string, { arguments: args, meta, name }: ToolCall): Message => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: meta === undefined ? { progressToken: id } : { ...meta, progressToken: id } }
})

const cancelled = (id: string): Message => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId: id, reason: "the caller no longer waits" }
})

const withoutToken = ({ progressToken: _, ...progress }: Protocol.Progress & { readonly progressToken?: unknown }) =>
  progress as Protocol.Progress

const ignore = () => {}
