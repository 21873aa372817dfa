/**
 * The timeouts of all requests of one session, on one timer. `idle` runs from the last sign of life, `total` from the start.
 * All of them are held while a person is asked.
 */
import { afterReading } from "../wire/Intake.js"

export interface Limits {
  /** Milliseconds. */
  readonly idle: number
  /** Milliseconds. */
  readonly total: number
}

/** The deadlines of one request. Small, because every request has one. */
export interface Deadlines {
  idleAt: number
  totalAt: number
  readonly idle: number
  readonly expired: (which: "idle" | "total") => void
}

export interface Clocks {
  /** Calls `expired` at most once, and never after `stop`. */
  readonly start: (limits: Limits, expired: (which: "idle" | "total") => void) => Deadlines
  /** Restarts the idle clock, because the server has shown a sign of life. */
  readonly touch: (running: Deadlines) => void
  readonly stop: (running: Deadlines) => void
  /** Holds all clocks until the returned function is called. With several holds, they resume after the last one. */
  readonly hold: () => () => void
}

/** The source of time. */
export interface TimeSource {
  /** The monotonic time in milliseconds. */
  readonly now: () => number
  /** Calls `run` once after this many milliseconds, unless the returned function is called before. */
  readonly after: (millis: number, run: () => void) => () => void
  /**
   * Calls `run` once when everything that has arrived is read. A timer may fire late, after a pause of this process, and a
   * response may have arrived in time.
   */
  readonly afterReading?: ((run: () => void) => void) | undefined
}

export const nodeTimer: TimeSource = {
  now: () => performance.now(),
  after: (millis, run) => {
    // The request keeps the process alive, its clock does not.
    const timer = setTimeout(run, Math.min(millis, longest)).unref()
    return () => clearTimeout(timer)
  },
  afterReading
}

/** Node.js uses 32 bits for timers and treats longer delays as 1 ms. */
const longest = 2 ** 31 - 1

export const make = (timer: TimeSource): Clocks => {
  const running = new Set<Deadlines>()
  let holds = 0
  let heldSince = 0
  let wakeAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  /** The time for the clocks: it stands still while they are held. */
  const now = () => (holds > 0 ? heldSince : timer.now())

  const wake = (at: number) => {
    if (at >= wakeAt || holds > 0 || at === Number.POSITIVE_INFINITY) return
    cancel()
    wakeAt = at
    cancel = timer.after(Math.max(0, at - timer.now()), ring)
  }

  /** Before a request fails, everything that has arrived is read. */
  const ring = () => {
    wakeAt = Number.POSITIVE_INFINITY
    if (timer.afterReading === undefined || !isDue(timer.now())) return sweep(timer.now())
    const time = timer.now()
    timer.afterReading(() => sweep(time))
  }

  const isDue = (time: number): boolean => {
    for (const { idleAt, totalAt } of running) if (Math.min(idleAt, totalAt) <= time) return true
    return false
  }

  const sweep = (time: number) => {
    if (holds > 0) return
    let next = Number.POSITIVE_INFINITY
    for (const clock of running) {
      const at = Math.min(clock.idleAt, clock.totalAt)
      if (at > time) {
        next = Math.min(next, at)
        continue
      }
      running.delete(clock)
      // The timer may fire after both deadlines: the earlier one is the reason.
      clock.expired(clock.totalAt <= clock.idleAt ? "total" : "idle")
    }
    wake(next)
  }

  const resume = () => {
    const heldFor = timer.now() - heldSince
    let next = Number.POSITIVE_INFINITY
    for (const clock of running) {
      clock.idleAt += heldFor
      clock.totalAt += heldFor
      next = Math.min(next, clock.idleAt, clock.totalAt)
    }
    wake(next)
  }

  return {
    start: ({ idle, total }, expired) => {
      const time = now()
      const clock: Deadlines = { idleAt: time + idle, totalAt: time + total, idle, expired }
      running.add(clock)
      wake(Math.min(clock.idleAt, clock.totalAt))
      return clock
    },
    touch: (clock) => {
      clock.idleAt = now() + clock.idle
    },
    // The timer is kept: requests often follow each other, and setting it costs more than an unnecessary sweep.
    stop: (clock) => void running.delete(clock),
    hold: () => {
      if (holds === 0) heldSince = timer.now()
      holds += 1
      let held = true
      return () => {
        if (!held) return
        held = false
        holds -= 1
        if (holds === 0) resume()
      }
    }
  }
}
