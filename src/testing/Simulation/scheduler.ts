/**
 * Runs fibers one turn at a time, in an order that a seed decides. Which fiber comes next is free, and so is where it makes
 * room for others. What one fiber has to do stays in its order.
 */
import type { RuntimeFiber } from "effect/Fiber"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

export interface SeededScheduler extends Scheduler.Scheduler {
  /** Runs one task; false if there is none. */
  readonly runOne: () => boolean
  /** How many tasks were run. */
  readonly steps: () => number
}

type AnyFiber = RuntimeFiber<unknown, unknown>

interface Waiting {
  readonly task: Scheduler.Task
  readonly priority: number
}

/** What one fiber has to do. */
interface Lane {
  readonly owner: AnyFiber | undefined
  readonly waiting: Array<Waiting>
}

/** As many operations as a fiber may run in a row with the usual scheduler. */
const longTurn = 2048
const shortTurn = 128
/** One in so many turns is short. */
const shortTurns = 4

export const makeScheduler = (seed: number): SeededScheduler => {
  const random = new PCGRandom(seed)
  const lanes = new Map<AnyFiber | undefined, Lane>()
  const ready: Array<Lane> = []
  /** What comes before everything else. */
  const urgent: Array<Scheduler.Task> = []
  /** Fibers that have had a turn, or been started by somebody who relies on it. */
  const known = new WeakSet<AnyFiber>()
  const starting = new WeakSet<AnyFiber>()
  let turn = longTurn
  let steps = 0

  const laneOf = (owner: AnyFiber | undefined): Lane => {
    const existing = lanes.get(owner)
    if (existing !== undefined) return existing
    const lane: Lane = { owner, waiting: [] }
    lanes.set(owner, lane)
    ready.push(lane)
    return lane
  }

  const isUrgent = (task: Scheduler.Task, fiber: AnyFiber): boolean => {
    if (isTurnOf(fiber, task)) {
      known.add(fiber)
      return starting.delete(fiber)
    }
    if (known.has(fiber)) return false
    known.add(fiber)
    starting.add(fiber)
    return true
  }

  const take = (): Scheduler.Task => {
    const first = urgent.shift()
    if (first !== undefined) return first
    const index = ready.length === 1 ? 0 : random.integer(ready.length)
    const lane = ready[index]!
    const { task } = lane.waiting.shift()!
    if (lane.waiting.length === 0) {
      lanes.delete(lane.owner)
      const last = ready.pop()!
      if (last !== lane) ready[index] = last
    }
    return task
  }

  return {
    shouldYield: (fiber) => (fiber.currentOpCount > turn && mayPause(fiber, turn) ? 0 : false),
    scheduleTask: (task, priority, fiber) => {
      if (fiber !== undefined && isUrgent(task, fiber)) return void urgent.push(task)
      const { waiting } = laneOf(fiber)
      const behind = waiting.findIndex((other) => other.priority > priority)
      waiting.splice(behind === -1 ? waiting.length : behind, 0, { task, priority })
    },
    runOne: () => {
      if (ready.length === 0 && urgent.length === 0) return false
      const task = take()
      turn = random.integer(shortTurns) === 0 ? 1 + random.integer(shortTurn) : longTurn
      steps++
      task()
      return true
    },
    steps: () => steps
  }
}

/**
 * Effect's own concurrent loops start and interrupt their fibers by tasks that are no turn of a fiber. They rely on being
 * started before anybody can interrupt them, which other schedulers grant by their order: otherwise such a loop never ends.
 */
const isTurnOf = (fiber: AnyFiber, task: Scheduler.Task): boolean =>
  (fiber as unknown as { readonly run?: unknown }).run === task

/** For the same reason, a fiber is left alone where it cannot be interrupted, but for the pause that every scheduler makes. */
const mayPause = (fiber: AnyFiber, turn: number): boolean =>
  turn === longTurn ||
  RuntimeFlags.interruptible(
    (fiber as unknown as { readonly currentRuntimeFlags: number }).currentRuntimeFlags as never
  )
