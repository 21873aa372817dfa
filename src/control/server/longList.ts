/**
 * Encodes long lists in pieces, so that other requests are served in between.
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fault from "./fault.js"

/** The number of items that are encoded at once. A list that is not longer is encoded like any other response. */
export const pieceSize = 500

/** Returns a function that leaves a short list as it is, and encodes a long one as a response. */
export const make = <A, I>(item: Schema.Schema<A, I>) => {
  const encode = Schema.encodeSync(item)
  const bytesOf = (items: ReadonlyArray<A>, from: number) => {
    const texts = items.slice(from, from + pieceSize).map((each) => JSON.stringify(encode(each)))
    return Buffer.from(`${from === 0 ? "[" : ","}${texts.join(",")}${from + pieceSize < items.length ? "" : "]"}`)
  }
  return (items: ReadonlyArray<A>): Effect.Effect<ReadonlyArray<A> | HttpServerResponse.HttpServerResponse> =>
    items.length <= pieceSize
      ? Effect.succeed(items)
      : Effect.gen(function* () {
          const pieces: Array<Buffer> = []
          for (let from = 0; from < items.length; from += pieceSize) {
            pieces.push(yield* Fault.encoding(() => bytesOf(items, from)))
            yield* nextTurn
          }
          return HttpServerResponse.uint8Array(Buffer.concat(pieces), { contentType: "application/json" })
        })
}

/** Waits for the next turn of the event loop. Yielding to other fibers does not let it turn. */
const nextTurn = Effect.async<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})
