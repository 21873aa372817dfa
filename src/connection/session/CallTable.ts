/**
 * The tool calls of one session that wait for their answer, in the legacy era. Calls are what a session does all day: they
 * take this way past the SDK, which costs several times as much, and here it is known exactly whether a call was sent.
 */
import * as Exit from "effect/Exit"
import { type ConnectionError, CallTimeout } from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { callResult, invalidResult, protocolError, requestFailure } from "./results.js"
import type { Clocks, Limits, Running } from "./Clocks.js"
import type { RequestError } from "../Session.js"
import type { Scrubbers } from "./shown.js"
import { type Message, type MessageId, type Wire, WireFailure } from "../wire/Wire.js"

export type Settled = Exit.Exit<Protocol.CallToolResult, RequestError>

export interface Call {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly limits: Limits
  readonly onProgress: (progress: Protocol.Progress) => void
  /** Told once. */
  readonly settle: (settled: Settled) => void
}

export interface CallTable {
  /** Sends a call. The function it gives takes the call back: the server is told, nobody else. */
  readonly call: (call: Call) => () => void
  /** Whether a call with this id waits for its answer. */
  readonly awaits: (id: MessageId) => boolean
  /** Whether a message was for one of the calls. */
  readonly accept: (message: Message) => boolean
  /** The connection is over, and with it every call. */
  readonly abandon: (reason: ConnectionError) => void
}

interface Pending {
  readonly call: Call
  readonly clock: Running
  sent: boolean
}

/** The SDK numbers its requests; with these names nothing is mixed up. */
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
  let over: ConnectionError | undefined

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
      // nested deeper than a stack is high
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
      if (over !== undefined) {
        call.settle(Exit.fail(requestFailure(server, new WireFailure(over, "unsent"))))
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
        // an answer that comes too late is for nobody, but it is not the SDK's either
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
      over ??= reason
      for (const id of pending.keys()) {
        fail(id, (entry) => requestFailure(server, new WireFailure(reason, entry.sent ? "sent" : "unsent")))
      }
    }
  }
}

const request = (id: string, { arguments: args, meta, name }: Call): Message => ({
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
