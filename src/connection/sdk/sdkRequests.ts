/**
 * Runs requests through the SDK. In the modern era these are all requests, in the legacy era all but tool calls.
 *
 * The session's clocks limit the time, not the SDK's. An interrupt notifies the server and returns immediately.
 */
import type { Client } from "@modelcontextprotocol/client"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { CallTimeout, type ConnectionError } from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Clocks, Limits } from "../session/Clocks.js"
import * as Classify from "./sdkClassify.js"
import type { RequestError, RequestOptions } from "../Session.js"
import { WireFailure } from "../wire/Wire.js"

/** One client on one wire, and the values that its requests share. */
export interface SdkChannel {
  readonly server: string
  readonly config: ServerConfig
  readonly client: Client
  readonly era: Protocol.Era
  readonly transport: Protocol.Transport
  /** The limits of a request without options. */
  readonly limits: Limits
  readonly clocks: Clocks
  /** Clocks that are not held while a person is asked: the health of a server does not depend on that. */
  readonly steadyClocks: Clocks
  readonly classify: () => Classify.ErrorContext
}

/** The request options for the SDK. The timeout is practically infinite. */
export interface SdkRequestOptions {
  readonly signal: AbortSignal
  readonly timeout: number
  readonly onprogress: (progress: Protocol.Progress) => void
}

/** Milliseconds. Longer than any limit of the session's clocks. */
export const never = 2 ** 31 - 1

export const limitsOf = ({ config, limits }: SdkChannel, options?: RequestOptions): Limits =>
  options === undefined ? limits : ownLimits(config, options)

const ownLimits = (config: ServerConfig, options: RequestOptions): Limits => ({
  idle: options.idleTimeout === undefined ? config.timeout.call : Duration.toMillis(options.idleTimeout),
  total: options.totalTimeout === undefined ? config.timeout.total : Duration.toMillis(options.totalTimeout)
})

/** The failure of a request before it is classified. */
export type Raw = { readonly thrown: unknown } | { readonly timeout: CallTimeout }

/** Runs a request of the SDK. Fails if a limit expires; an interrupt aborts the request. */
export const perform = <A>(
  channel: SdkChannel,
  limits: Limits,
  run: (options: SdkRequestOptions) => Promise<A>,
  onProgress: (progress: Protocol.Progress) => void = () => {},
  clocks = channel.clocks
): Effect.Effect<A, Raw> =>
  Effect.async<A, Raw>((resume) => {
    const { closed } = channel.classify()
    // The SDK would return an empty result for a closed connection, as if the server had no tools.
    if (closed !== undefined) return resume(Effect.fail({ thrown: new WireFailure(closed, "unsent") }))
    const controller = new AbortController()
    const clock = clocks.start(limits, (which) => {
      const timeout = new CallTimeout({ server: channel.server, which, sent: true, after: limits[which] })
      resume(Effect.fail({ timeout }))
      controller.abort(givenUp)
    })
    const onprogress = (progress: Protocol.Progress) => {
      clocks.touch(clock)
      onProgress(progress)
    }
    const options = { signal: controller.signal, timeout: never, onprogress }
    run(options).then(
      (value) => {
        clocks.stop(clock)
        resume(Effect.succeed(value))
      },
      (thrown: unknown) => {
        clocks.stop(clock)
        resume(Effect.fail({ thrown }))
      }
    )
    return Effect.sync(() => {
      clocks.stop(clock)
      controller.abort(givenUp)
    })
  })

/** The reason that the server receives. It discloses nothing about the client. */
const givenUp = "the caller no longer waits"

export const toRequestError =
  (channel: SdkChannel) =>
  (raw: Raw): RequestError =>
    "timeout" in raw ? raw.timeout : Classify.requestError(channel.classify(), raw.thrown)

export const toConnectionError =
  (channel: SdkChannel) =>
  (raw: { readonly thrown: unknown }): ConnectionError =>
    Classify.connectionError(channel.classify(), raw.thrown)

/** Runs a request and converts its failure for the caller. */
export const request = <A>(
  channel: SdkChannel,
  limits: Limits,
  run: (options: SdkRequestOptions) => Promise<A>
): Effect.Effect<A, RequestError> => Effect.mapError(perform(channel, limits, run), toRequestError(channel))
