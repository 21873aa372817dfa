/**
 * Runs a program without real time and without luck: a seed decides which fiber runs next and where it makes room for
 * others, and time passes only when it is told to. The same seed gives the same history, always; another seed gives another
 * one that could have happened as well.
 *
 * Nothing of it uses timers or microtasks of the platform, so hours pass in milliseconds and a failure can be looked at again
 * and again. It also means that effects which wait for the world outside (promises, sockets, callbacks of the platform)
 * cannot be simulated: they do not go on while the simulation runs.
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
  /** For fibers that are started in another way: these three make an effect part of the simulation. */
  readonly scheduler: Scheduler.Scheduler
  readonly clock: Clock.Clock
  readonly random: Random.Random

  /** Starts a fiber. Nothing runs before {@link Simulation.settle}, {@link Simulation.advance} or {@link Simulation.run}. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  /**
   * Runs an effect to its end, in as much virtual time as that needs. Throws if it cannot end: nothing is left to do, no timer
   * is pending, and it still waits.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Exit.Exit<A, E>
  /** Runs everything there is to do at this moment. Throws if that has no end. */
  readonly settle: () => void
  /** Lets time pass, timer by timer, and settles after each. */
  readonly advance: (duration: Duration.DurationInput) => void
  /** Lets the wall clock run ahead of all timers, as if the computer had slept. */
  readonly jump: (duration: Duration.DurationInput) => void

  /** Epoch milliseconds of the wall clock, which begins at 0. */
  readonly now: () => number
  /** Milliseconds that have passed for timers. */
  readonly elapsed: () => number
  /** How many times a fiber had its turn. */
  readonly steps: () => number
  /** Timers that were set and have neither fired nor been cancelled. */
  readonly pendingTimers: () => number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Runs whenever nothing is left to do at a moment: the place to check what must be true then. */
  readonly onRest?: (() => void) | undefined
  /** How many steps it may take to come to rest. Defaults to a million. */
  readonly maxSteps?: number | undefined
}

/**
 * A world in which nothing has happened yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (seed: number | string, options: Options = {}): Simulation => {
  const { maxSteps = 1_000_000, onRest } = options
  // as a text: the first numbers drawn from neighbouring seeds would be much alike
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

/** Both clocks count whole milliseconds. */
const wholeMillis = (duration: Duration.DurationInput): number => Math.ceil(Duration.toMillis(duration))
