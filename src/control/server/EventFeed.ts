/**
 * The events of a supervisor as a stream of bytes that can be taken up again where it broke off. What a slow reader has not
 * taken is not kept for it: the supervisor's own ring is the only buffer.
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
import * as Sse from "./sse.js"

export interface EventFeed {
  /** Tells this run of the supervisor from all others. */
  readonly epoch: string
  /** What follows the event that a reader saw last, or what comes from now on. */
  readonly after: (lastEventId: string | undefined) => Stream.Stream<Uint8Array>
  /** Texts as a stream of bytes that shows that it lives. */
  readonly alive: (texts: Stream.Stream<string>) => Stream.Stream<Uint8Array>
  /** The same, for texts that know no end of their own: it ends with the feed. */
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
        // the head is sent with the first byte
        (rest) => Stream.concat(Stream.make(Sse.comment("hello")), rest),
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
            : // whoever leaves before the first event knows where he was
              `id: ${id}\n\n`
        const events = Stream.mapChunks(supervisor.eventsFrom(start + 1), (events) =>
          Chunk.map(events, (event) => renderEvent(epoch, event))
        )
        return stream(Stream.concat(Stream.make(greeting), events))
      })

    return { epoch, after, alive, stream, end: Effect.asVoid(Deferred.succeed(ended, undefined)) }
  })

/** The number of an event of ours. Nothing, if the id is of another run, or of nobody, or of one that is still to come. */
export const positionIn = (id: string, epoch: string, latest: number): number | undefined => {
  const [, prefix, number] = /^([0-9a-f]+)-(\d{1,15})$/.exec(id) ?? []
  return prefix === epoch && Number(number) <= latest ? Number(number) : undefined
}

const encode = Schema.encodeSync(Schema.parseJson(ServerEvent))

/** Everybody reads the same events. */
const encoded = new WeakMap<ServerEvent, string>()

const renderEvent = (epoch: string, event: ServerEvent): string => {
  const data = encoded.get(event) ?? encode(event)
  encoded.set(event, data)
  const name = event.type === "Skipped" ? { event: "skipped" } : {}
  return Sse.render({ id: `${epoch}-${event.seq}`, data, ...name })
}
