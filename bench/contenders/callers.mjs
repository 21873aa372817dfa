// How an Effect program calls: everything in one effect, one fiber per caller.
import * as Effect from "effect/Effect"

/** Lets some callers call for so long; `call` is an effect that makes one call. */
export const callersOf = (call) => (count, until, args, told) => {
  const caller = Effect.gen(function* () {
    for (let now = performance.now(); now < until; ) {
      const { content } = yield* call(args)
      const then = now
      now = performance.now()
      told(now - then, content)
    }
  })
  return Effect.runPromise(
    Effect.forEach(Array.from({ length: count }), () => caller, { concurrency: count, discard: true })
  )
}
