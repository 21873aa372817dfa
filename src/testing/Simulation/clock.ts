/**
 * A clock whose time is advanced by the simulation. The wall clock can run ahead of the monotonic clock, as after a computer's
 * sleep; timers follow the monotonic clock.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { makeTimers } from "./timers.js"

export interface VirtualClock {
  readonly clock: Clock.Clock
  /** The time of the wall clock in milliseconds. */
  readonly now: () => number
  /** The time of the monotonic clock in milliseconds. */
  readonly elapsed: () => number
  /** Advances only the wall clock. */
  readonly jump: (millis: number) => void
  /**
   * Advances to the next timer due by this time, runs it and returns true. Without one, advances to this time and returns
   * false.
   */
  readonly fire: (until: number) => boolean
  readonly nextAt: () => number | undefined
  readonly pending: () => number
}

/** Milliseconds. A longer timer never fires here. */
const maxTimer = 2 ** 31 - 1

export const makeClock = (): VirtualClock => {
  const timers = makeTimers()
  let monotonic = 0
  let ahead = 0

  const now = () => monotonic + ahead
  const nanos = () => BigInt(monotonic) * 1_000_000n

  const schedule = (task: () => void, duration: Duration.Duration): (() => boolean) => {
    const millis = Math.ceil(Duration.toMillis(duration))
    return millis > maxTimer ? () => false : timers.add(monotonic + millis, task)
  }

  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(nanos),
    // `Effect.async` would leave its timer behind if it were interrupted right after its start.
    sleep: (duration) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const over = Deferred.unsafeMake<void>(FiberId.none)
          return { over, cancel: schedule(() => Deferred.unsafeDone(over, Effect.void), duration) }
        }),
        ({ over }) => Deferred.await(over),
        ({ cancel }) => Effect.sync(cancel)
      )
  }

  return {
    clock,
    now,
    elapsed: () => monotonic,
    jump: (millis) => {
      ahead += millis
    },
    fire: (until) => {
      const at = timers.nextAt()
      if (at === undefined || at > until) {
        monotonic = Math.max(monotonic, until)
        return false
      }
      monotonic = Math.max(monotonic, at)
      timers.take()!()
      return true
    },
    nextAt: timers.nextAt,
    pending: timers.size
  }
}
