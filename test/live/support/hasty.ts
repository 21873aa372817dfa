import { Clock, Duration, Effect } from "effect"

/** A clock that runs faster by a factor. */
export const hasty = (factor: number): Clock.Clock => {
  const real = Clock.make()
  const start = Date.now()
  const now = () => start + (Date.now() - start) * factor
  return {
    ...real,
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    unsafeCurrentTimeNanos: () => BigInt(Math.round(now() * 1e6)),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now() * 1e6))),
    sleep: (duration) => real.sleep(Duration.millis(Duration.toMillis(duration) / factor))
  }
}
