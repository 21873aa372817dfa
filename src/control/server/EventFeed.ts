/**
 * Streams the events of a supervisor as server-sent events, resumable by the last event id. There is no buffer per client:
 * the replay log of the supervisor is the only buffer, so a slow client skips events.
 */
import { randomBytes } from "node:crypto"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ServerEvent } from "../../domain/server/ServerEvent.js"
import type { Shape } from "../../supervision/model.js"
import * as Sse from "../sse.js"

export interface EventFeed {
  /** Identifies this run of the supervisor in event ids. */
  readonly epoch: string
  /** The events after `lastEventId`; without it, the events from now on. */
  readonly after: (lastEventId: string | undefined) => Stream.Stream<Uint8Array>
  /** Encodes texts as bytes, with a comment at each heartbeat. Ends when `texts` ends. */
  readonly alive: (texts: Stream.Stream<string>) => Stream.Stream<Uint8Array>
  /** Encodes texts that never end by themselves, with a comment at each heartbeat. Ends when the feed ends. */
  readonly stream: (texts: Stream.Stream<string>) => Stream.Stream<Uint8Array>
  /** Ends all streams. */
  readonly end: Effect.Effect<void>
}

export const make = (
  supervisor: Pick<Shape, "eventsFrom">,
  heartbeat: Duration.DurationInput
): Effect.Effect<EventFeed, never, Scope.Scope> =>
  Effect.gen(function* () {
    const epoch = randomBytes(8).toString("hex")
    const ended = yield* Deferred.make<void>()
    let latest = 0
    yield* Effect.forkScoped(
      Stream.runForEachChunk(supervisor.eventsFrom(1), (events) =>
        Effect.sync(
          () => void (latest = Chunk.last(events).pipe((last) => (last._tag === "Some" ? last.value.seq : latest)))
        )
      )
    )

    const alive = (texts: Stream.Stream<string>) =>
      texts.pipe(
        Stream.merge(Stream.fromSchedule(Schedule.spaced(heartbeat)).pipe(Stream.as(Sse.comment("alive"))), {
          haltStrategy: "left"
        }),
        // Node sends the response head with the first byte
        (body) => Stream.concat(Stream.make(Sse.comment("hello")), body),
        Stream.mapChunks((parts) => Chunk.of<Uint8Array>(Buffer.from(Chunk.join(parts, ""))))
      )
    const stream = (texts: Stream.Stream<string>) => Stream.interruptWhenDeferred(alive(texts), ended)

    const after = (lastEventId: string | undefined) =>
      Stream.suspend(() => {
        const position = lastEventId === undefined ? latest : positionIn(lastEventId, epoch, latest)
        const start = position ?? latest
        const id = `${epoch}-${start}`
        const greeting =
          position === undefined
            ? Sse.render({ id, event: "reset", data: JSON.stringify({ epoch }) })
            : // a client that disconnects before the first event can still resume from here
              `id: ${id}\n\n`
        const events = Stream.mapChunks(supervisor.eventsFrom(start + 1), (events) =>
          Chunk.map(events, (event) => renderEvent(epoch, event))
        )
        return stream(Stream.concat(Stream.make(greeting), events))
      })

    return { epoch, after, alive, stream, end: Effect.asVoid(Deferred.succeed(ended, undefined)) }
  })

/** The number of an event id. `undefined` if the id is malformed, of another run, or higher than the latest event. */
export const positionIn = (id: string, epoch: string, latest: number): number | undefined => {
  const [, prefix, number] = /^([0-9a-f]+)-(\d{1,15})$/.exec(id) ?? []
  return prefix === epoch && Number(number) <= latest ? Number(number) : undefined
}

const encode = Schema.encodeSync(Schema.parseJson(ServerEvent))

/** Encoded events by event: all clients get the same events, so each is encoded once. */
const encoded = new WeakMap<ServerEvent, string>()

const renderEvent = (epoch: string, event: ServerEvent): string => {
  const data = encoded.get(event) ?? encode(event)
  encoded.set(event, data)
  const name = event.type === "Skipped" ? { event: "skipped" } : {}
  return Sse.render({ id: `${epoch}-${event.seq}`, data, ...name })
}
