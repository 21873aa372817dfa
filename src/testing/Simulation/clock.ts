/**
 * Time that passes when it is told to. The wall clock can run ahead of the monotonic one, as it does when a computer sleeps:
 * timers follow the monotonic one.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { makeTimers } from "./timers.js"

export interface VirtualClock {
  readonly clock: Clock.Clock
  /** Milliseconds of the wall clock. */
  readonly now: () => number
  /** Milliseconds of the monotonic clock. */
  readonly elapsed: () => number
  /** Lets the wall clock run ahead. */
  readonly jump: (millis: number) => void
  /** Goes to the next timer that is due until then and runs it, or goes to that moment and says that there is none. */
  readonly fire: (until: number) => boolean
  readonly nextAt: () => number | undefined
  readonly pending: () => number
}

/** A longer one never fires in Node either. */
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
    // not `Effect.async`: interrupted right after it began, it would leave its timer behind
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
