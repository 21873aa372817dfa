/**
 * Creates the session for a client that has completed the handshake.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import { type ConnectionError, HealthCheckFailed, type InvalidResult } from "../../domain/Errors.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { decodeResult } from "../session/results.js"
import type { Broadcast } from "../../system/stream/Broadcast.js"
import type { CallTable } from "../session/CallTable.js"
import * as Lists from "../session/Lists.js"
import type { ProcessLog } from "../stdio/ProcessLog.js"
import * as Calls from "./sdkCalls.js"
import { type SdkChannel, limitsOf, perform, request, toConnectionError, toRequestError } from "./sdkRequests.js"
import { wholeResult } from "./sdkTransport.js"
import { resourceUpdates } from "./sdkSubscriptions.js"
import type { Info, Notification, RequestError, Session } from "../Session.js"

/** The parts of a connection that a session needs besides its client. */
export interface Parts {
  readonly channel: SdkChannel
  readonly info: Info
  readonly calls: CallTable
  readonly notifications: Broadcast<Notification>
  readonly updates: Broadcast<string>
  readonly logs: Broadcast<Protocol.LogLine>
  readonly push: () => Protocol.Push
  readonly processLog: ProcessLog
  readonly closed: Deferred.Deferred<ConnectionError>
}

export const make = (parts: Parts): Session => {
  const { info, channel } = parts
  const { client, server } = channel
  const lists = Lists.make(channel)
  const calling =
    channel.era === "legacy"
      ? Calls.legacy(channel, parts.calls, lists.listTools)
      : Calls.modern(channel, lists.listTools)

  const decoded = <A, I>(
    run: Effect.Effect<unknown, RequestError>,
    schema: Schema.Schema<A, I>
  ): Effect.Effect<A, RequestError> =>
    Effect.flatMap(run, (result): Exit.Exit<A, InvalidResult> => decodeResult(server, schema, wholeResult(result)))

  return {
    info,
    ...lists,
    ...calling,
    readResource: (uri, options) =>
      decoded(
        request(channel, limitsOf(channel, options), (sdkOptions) =>
          client.readResource({ uri }, { ...sdkOptions, cacheMode: "bypass" })
        ),
        Protocol.ReadResourceResult
      ),
    subscribeResource: resourceUpdates(channel, parts.updates),
    getPrompt: (name, args, options) =>
      decoded(
        request(channel, limitsOf(channel, options), (sdkOptions) =>
          client.getPrompt({ name, ...(args === undefined ? {} : { arguments: { ...args } }) }, sdkOptions)
        ),
        Protocol.GetPromptResult
      ),
    complete: (wanted, options) =>
      decoded(
        request(channel, limitsOf(channel, options), (sdkOptions) => client.complete(wanted as never, sdkOptions)),
        Protocol.CompleteResult
      ),
    probe: (timeout) => probe(channel, Duration.toMillis(timeout)),
    notifications: parts.notifications.stream,
    logs: parts.logs.stream,
    push: Effect.sync(parts.push),
    output: Effect.sync(() => ({ stderr: parts.processLog.tail(), strayLines: parts.processLog.strayLines() })),
    closed: Deferred.await(parts.closed)
  }
}

const ignore = () => {}

/** Checks that the server responds. An error response counts as well. */
const probe = (channel: SdkChannel, timeout: number): Effect.Effect<void, ConnectionError> =>
  perform(
    channel,
    { idle: timeout, total: timeout },
    (options) => (channel.era === "legacy" ? channel.client.ping(options) : channel.client.discover(options)),
    ignore,
    channel.steadyClocks
  ).pipe(
    Effect.catchAll((raw) => {
      if ("timeout" in raw) return Effect.fail(new HealthCheckFailed({ server: channel.server, after: timeout }))
      const { _tag } = toRequestError(channel)(raw)
      return _tag === "ProtocolError" || _tag === "InvalidResult"
        ? Effect.void
        : Effect.fail(toConnectionError(channel)(raw))
    }),
    Effect.asVoid
  )
