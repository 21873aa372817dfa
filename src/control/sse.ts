/**
 * Renders and parses server-sent events.
 */
import * as Chunk from "effect/Chunk"
import * as Stream from "effect/Stream"
import { createParser } from "eventsource-parser"

export interface SseMessage {
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

/** Renders a message. The data must be on one line, as JSON is. */
export const render = ({ data, event, id }: SseMessage): string =>
  `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`

/** Renders a comment, which clients ignore. It shows that the connection is alive. */
export const comment = (text: string): string => `: ${text}\n\n`

export const parse = <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<SseMessage, E> =>
  Stream.suspend(() => {
    let messages: Array<SseMessage> = []
    const parser = createParser({ onEvent: (message) => void messages.push(message) })
    return bytes.pipe(
      Stream.decodeText(),
      Stream.mapChunks((texts) => {
        messages = []
        for (const text of texts) parser.feed(text)
        return Chunk.unsafeFromArray(messages)
      })
    )
  })
