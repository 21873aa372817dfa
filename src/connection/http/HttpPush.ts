/**
 * Keeps the legacy stream for server messages open over HTTP. It is optional: its failure does not affect the connection.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import type { HttpClient } from "./HttpClient.js"
import {
  exchange,
  type Handler,
  type Position,
  type ExchangeContext,
  type FailedResponse,
  type ExchangeRequest
} from "./HttpExchange.js"
import type { WireEvents } from "../wire/Wire.js"

/** The statuses of a server that does not offer this stream. */
const notOffered = new Set([400, 404, 405, 406, 501])

/** After this time a stream counts as stable, and the failure count is reset. */
const stableAfter = Duration.seconds(30)

const firstDelay = Duration.seconds(1)
const longestDelay = Duration.minutes(1)

interface Outcome {
  readonly refused?: FailedResponse | undefined
  readonly position: Position
}

/** Opens the stream and reopens it with growing delays. Returns if the server does not offer it or has lost the session. */
export const keepOpen = (options: {
  readonly context: ExchangeContext
  readonly client: HttpClient
  readonly request: (lastEventId: string | undefined) => ExchangeRequest
  readonly events: Pick<WireEvents, "message" | "push">
  /** Called if a server that had accepted the stream before reports the end of the session. */
  readonly lost: (reason: ConnectionError) => void
}): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { events } = options
    let everOpen = false
    let failures = 0
    let position: Position = {}

    const opened = () => {
      everOpen = true
      events.push(failures === 0 ? "open" : "degraded")
    }
    const stable = Effect.sync(() => {
      failures = 0
      events.push("open")
    })

    while (true) {
      const { position: reached, refused } = yield* stream(options, position, opened, stable)
      if (!everOpen && notOffered.has(refused?.status ?? 0)) return events.push("none")
      if (everOpen && refused?.failure.ends === true) return options.lost(refused.failure.reason)
      // The server may refuse the event id itself, and would then do so each time: it is discarded.
      position = refused === undefined ? { ...position, ...reached } : {}
      events.push("degraded")
      yield* Effect.sleep(delay(failures, position.retry))
      failures += 1
    }
  })

const delay = (failures: number, retry = 0): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.times(firstDelay, 2 ** Math.min(failures, 10)), longestDelay),
    Duration.min(Duration.millis(retry), longestDelay)
  )

/** Runs one stream, from its opening to its end. */
const stream = (
  { client, context, events, request }: Parameters<typeof keepOpen>[0],
  { lastEventId }: Position,
  opened: () => void,
  stable: Effect.Effect<void>
): Effect.Effect<Outcome> => {
  const whole = Effect.async<Outcome>((resume) => {
    const done = (outcome: Outcome) => resume(Effect.succeed(outcome))
    const handler: Handler = {
      accepted: opened,
      message: events.message,
      end: (position) => done({ position }),
      refused: (refused) => done({ refused, position: {} }),
      broken: (_, position) => done({ position })
    }
    const abort = exchange(context, client, request(lastEventId), handler)
    return Effect.sync(abort)
  })
  return Effect.raceFirst(whole, Effect.sleep(stableAfter).pipe(Effect.zipRight(stable), Effect.zipRight(Effect.never)))
}
