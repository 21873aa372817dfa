/**
 * Server-sent events as text, written and read.
 */
import * as Chunk from "effect/Chunk"
import * as Stream from "effect/Stream"
import { createParser } from "eventsource-parser"

export interface Message {
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

/** The data is on one line, as JSON is. */
export const render = ({ data, event, id }: Message): string =>
  `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`

/** A line that means nothing: it shows that somebody is there. */
export const comment = (text: string): string => `: ${text}\n\n`

export const parse = <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Message, E> =>
  Stream.suspend(() => {
    let found: Array<Message> = []
    const parser = createParser({ onEvent: (message) => void found.push(message) })
    return bytes.pipe(
      Stream.decodeText(),
      Stream.mapChunks((texts) => {
        found = []
        for (const text of texts) parser.feed(text)
        return Chunk.unsafeFromArray(found)
      })
    )
  })
