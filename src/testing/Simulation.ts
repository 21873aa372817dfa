/**
 * Runs a program in virtual time, in an order that a seed decides.
 *
 * The seed decides which fiber runs next and where it yields, and time passes only when the test advances it. A seed always
 * gives the same history; another seed gives another possible history.
 *
 * The simulation uses no timers or microtasks of the platform, so hours pass in milliseconds and every failure can be repeated.
 * Effects that wait for the outside world (promises, sockets, callbacks of the platform) cannot be simulated: they do not
 * continue while the simulation runs.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Random from "effect/Random"
import type * as Scheduler from "effect/Scheduler"
import { makeClock } from "./Simulation/clock.js"
import { makeScheduler } from "./Simulation/scheduler.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Simulation {
  /** Scheduler, clock and random of the simulation. A fiber that is started in another way takes part with these three. */
  readonly scheduler: Scheduler.Scheduler
  readonly clock: Clock.Clock
  readonly random: Random.Random

  /** Starts a fiber. Nothing runs before {@link Simulation.settle}, {@link Simulation.advance} or {@link Simulation.run}. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  /**
   * Runs an effect to its end, in as much virtual time as it needs. Throws if it cannot end because it still waits and neither
   * a task nor a timer is left.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Exit.Exit<A, E>
  /** Runs everything that is due at the current time. Throws if this does not end. */
  readonly settle: () => void
  /** Advances the time, timer by timer, and settles after each. */
  readonly advance: (duration: Duration.DurationInput) => void
  /** Advances the wall clock but no timers, as if the computer had slept. */
  readonly jump: (duration: Duration.DurationInput) => void

  /** Epoch milliseconds of the wall clock, which begins at 0. */
  readonly now: () => number
  /** The milliseconds that have passed for timers. */
  readonly elapsed: () => number
  /** The number of turns of all fibers. */
  readonly steps: () => number
  /** The number of timers that have neither fired nor been cancelled. */
  readonly pendingTimers: () => number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Runs whenever nothing is left to do at the current time, for example to check invariants. */
  readonly onRest?: (() => void) | undefined
  /** The maximum number of steps until nothing is left to do. Defaults to a million. */
  readonly maxSteps?: number | undefined
}

/**
 * Creates a simulation at time 0, without fibers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (seed: number | string, options: Options = {}): Simulation => {
  const { maxSteps = 1_000_000, onRest } = options
  // Hashed as text: the first numbers drawn from neighbouring numeric seeds would be similar.
  const scheduler = makeScheduler(Hash.string(`order of ${seed}`))
  const virtual = makeClock()
  const random = Random.make(`luck of ${seed}`)

  const fork = <A, E>(effect: Effect.Effect<A, E>): Fiber.RuntimeFiber<A, E> =>
    Effect.runFork(effect.pipe(Effect.withClock(virtual.clock), Effect.withRandom(random)), {
      scheduler,
      immediate: false
    })

  const fireDue = () => virtual.nextAt() === virtual.elapsed() && virtual.fire(virtual.elapsed())

  const settle = () => {
    for (let turns = 0; scheduler.runOne() || fireDue(); turns++) {
      if (turns > maxSteps) throw new Error(`the simulation did not come to rest within ${maxSteps} steps`)
    }
    onRest?.()
  }

  const advance = (duration: Duration.DurationInput) => {
    settle()
    const until = virtual.elapsed() + wholeMillis(duration)
    while (virtual.fire(until)) settle()
  }

  const run = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> => {
    const limit = scheduler.steps() + maxSteps
    const fiber = fork(effect)
    settle()
    for (;;) {
      const exit = fiber.unsafePoll()
      if (exit !== null) return exit
      const next = virtual.nextAt()
      if (next === undefined) throw new Error("the effect waits, but nothing in the simulation is left to happen")
      if (scheduler.steps() > limit) throw new Error(`the effect did not end within ${maxSteps} steps`)
      virtual.fire(next)
      settle()
    }
  }

  return {
    scheduler,
    clock: virtual.clock,
    random,
    fork,
    run,
    settle,
    advance,
    jump: (duration) => virtual.jump(wholeMillis(duration)),
    now: virtual.now,
    elapsed: virtual.elapsed,
    steps: scheduler.steps,
    pendingTimers: virtual.pending
  }
}

/** Rounds up: both clocks count whole milliseconds. */
const wholeMillis = (duration: Duration.DurationInput): number => Math.ceil(Duration.toMillis(duration))
