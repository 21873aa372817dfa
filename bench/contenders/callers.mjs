// Calls as an Effect program does: in one effect, with one fiber per caller.
import * as Effect from "effect/Effect"

/** Runs a number of callers for a time; `call` is an effect that makes one call. */
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
