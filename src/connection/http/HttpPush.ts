/**
 * The stream on which a server speaks unasked, in the legacy era over HTTP. It is a convenience: whatever happens to it, the
 * connection stays as good as it is.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ConnectionError } from "../../domain/Errors.js"
import type { HttpClient } from "./HttpClient.js"
import { exchange, type Handler, type Position, type Reading, type Refused, type Request } from "./HttpExchange.js"
import type { WireEvents } from "../wire/Wire.js"

/** What a server answers that has no such stream. */
const notOffered = new Set([400, 404, 405, 406, 501])

/** A stream that lasted this long was a good one. */
const stableAfter = Duration.seconds(30)

const firstDelay = Duration.seconds(1)
const longestDelay = Duration.minutes(1)

interface Outcome {
  readonly refused?: Refused | undefined
  readonly position: Position
}

export const keepOpen = (options: {
  readonly context: Reading
  readonly client: HttpClient
  readonly request: (lastEventId: string | undefined) => Request
  readonly events: Pick<WireEvents, "message" | "push">
  /** A server that had such a stream says that it no longer knows us. */
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
      // a cursor that the server does not take would be refused for ever
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

/** One stream, from its opening to its end. */
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
