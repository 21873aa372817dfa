/**
 * The two clocks of every request of one session, on one timer: `idle` runs from the last sign of life, `total` from the
 * beginning. All of them stand still while a person is being asked.
 */
import { afterReading } from "../wire/Intake.js"

export interface Limits {
  /** Milliseconds. */
  readonly idle: number
  /** Milliseconds. */
  readonly total: number
}

/** The clocks of one request. There is one for each, so it is as small as can be. */
export interface Running {
  idleAt: number
  totalAt: number
  readonly idle: number
  readonly expired: (which: "idle" | "total") => void
}

export interface Clocks {
  /** Calls `expired` at most once, and never after `stop`. */
  readonly start: (limits: Limits, expired: (which: "idle" | "total") => void) => Running
  /** A sign of life: the idle clock starts anew. */
  readonly touch: (running: Running) => void
  readonly stop: (running: Running) => void
  /** Stops all clocks until the function it gives is called. They also stand still while others are being asked. */
  readonly hold: () => () => void
}

/** Where time comes from. */
export interface Timer {
  /** Milliseconds that only ever grow. */
  readonly now: () => number
  /** Calls back once, after some milliseconds, unless the function it gives is called before. */
  readonly after: (millis: number, run: () => void) => () => void
  /**
   * Calls back once when what has arrived is read. An alarm may ring late, after a pause of our process, and then an answer may
   * have been there in time.
   */
  readonly afterReading?: ((run: () => void) => void) | undefined
}

export const nodeTimer: Timer = {
  now: () => performance.now(),
  after: (millis, run) => {
    // what a request waits for keeps the process alive, not its clock
    const timer = setTimeout(run, Math.min(millis, longest)).unref()
    return () => clearTimeout(timer)
  },
  afterReading
}

/** Node counts in 32 bits and takes more for nothing. */
const longest = 2 ** 31 - 1

export const make = (timer: Timer): Clocks => {
  const running = new Set<Running>()
  let holds = 0
  let heldSince = 0
  let wakeAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  /** The time as the clocks see it: it does not go on while they are held. */
  const now = () => (holds > 0 ? heldSince : timer.now())

  const wake = (at: number) => {
    if (at >= wakeAt || holds > 0 || at === Number.POSITIVE_INFINITY) return
    cancel()
    wakeAt = at
    cancel = timer.after(Math.max(0, at - timer.now()), ring)
  }

  /** Before a request is given up, what has arrived by then is read. */
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
      // an alarm may ring after both: the one that ended first is the reason
      clock.expired(clock.totalAt <= clock.idleAt ? "total" : "idle")
    }
    wake(next)
  }

  const resume = () => {
    const stood = timer.now() - heldSince
    let next = Number.POSITIVE_INFINITY
    for (const clock of running) {
      clock.idleAt += stood
      clock.totalAt += stood
      next = Math.min(next, clock.idleAt, clock.totalAt)
    }
    wake(next)
  }

  return {
    start: ({ idle, total }, expired) => {
      const time = now()
      const clock: Running = { idleAt: time + idle, totalAt: time + total, idle, expired }
      running.add(clock)
      wake(Math.min(clock.idleAt, clock.totalAt))
      return clock
    },
    touch: (clock) => {
      clock.idleAt = now() + clock.idle
    },
    // the alarm stays: most requests come soon after another, and setting it costs more than an idle sweep
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
