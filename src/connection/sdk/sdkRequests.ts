/**
 * Requests that go through the SDK: all of the modern era, and all but tool calls of the legacy one. Our clocks run, not
 * the SDK's; interrupting a request tells the server and returns at once.
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

/** One client on one wire, and what its requests have in common. */
export interface Link {
  readonly server: string
  readonly config: ServerConfig
  readonly client: Client
  readonly era: Protocol.Era
  readonly transport: Protocol.Transport
  /** What holds for a request that does not say otherwise. */
  readonly limits: Limits
  readonly clocks: Clocks
  /** Clocks that go on while a person is asked: whether a server lives does not depend on that. */
  readonly steadyClocks: Clocks
  readonly classify: () => Classify.Context
}

/** What the SDK gets to know about how long a request may take: as little as possible. */
export interface SdkRequestOptions {
  readonly signal: AbortSignal
  readonly timeout: number
  readonly onprogress: (progress: Protocol.Progress) => void
}

/** Longer than any clock of ours. */
export const never = 2 ** 31 - 1

export const limitsOf = ({ config, limits }: Link, options?: RequestOptions): Limits =>
  options === undefined ? limits : ownLimits(config, options)

const ownLimits = (config: ServerConfig, options: RequestOptions): Limits => ({
  idle: options.idleTimeout === undefined ? config.timeout.call : Duration.toMillis(options.idleTimeout),
  total: options.totalTimeout === undefined ? config.timeout.total : Duration.toMillis(options.totalTimeout)
})

/** What a request may end with before we know what it means. */
export type Raw = { readonly thrown: unknown } | { readonly timeout: CallTimeout }

export const perform = <A>(
  link: Link,
  limits: Limits,
  run: (options: SdkRequestOptions) => Promise<A>,
  onProgress: (progress: Protocol.Progress) => void = () => {},
  clocks = link.clocks
): Effect.Effect<A, Raw> =>
  Effect.async<A, Raw>((resume) => {
    const { closed } = link.classify()
    // the SDK would answer for a dead server: with nothing, as if it had no tools
    if (closed !== undefined) return resume(Effect.fail({ thrown: new WireFailure(closed, "unsent") }))
    const controller = new AbortController()
    const clock = clocks.start(limits, (which) => {
      const timeout = new CallTimeout({ server: link.server, which, sent: true, after: limits[which] })
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

/** This is what the server is told: nothing about us. */
const givenUp = "the caller no longer waits"

export const toRequestError =
  (link: Link) =>
  (raw: Raw): RequestError =>
    "timeout" in raw ? raw.timeout : Classify.requestError(link.classify(), raw.thrown)

export const toConnectionError =
  (link: Link) =>
  (raw: { readonly thrown: unknown }): ConnectionError =>
    Classify.connectionError(link.classify(), raw.thrown)

/** A request whose failure is told to whoever made it. */
export const request = <A>(
  link: Link,
  limits: Limits,
  run: (options: SdkRequestOptions) => Promise<A>
): Effect.Effect<A, RequestError> => Effect.mapError(perform(link, limits, run), toRequestError(link))
