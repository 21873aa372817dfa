/**
 * Long lists as answers: encoded piece by piece, so that other requests are answered in between.
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fault from "./fault.js"

/** Entries that are encoded at once. A shorter list is encoded as any other answer. */
export const pieceSize = 500

/** A list of any length: as it is if it is short, encoded if it is long. */
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

/** The event loop turns once. A yield to other fibers alone would not let it. */
const nextTurn = Effect.async<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})
