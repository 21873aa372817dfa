/**
 * Runs fibers one turn at a time, in an order that a seed decides. The seed decides which fiber runs next and where it yields.
 * The tasks of one fiber keep their order.
 */
import type { RuntimeFiber } from "effect/Fiber"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

export interface SeededScheduler extends Scheduler.Scheduler {
  /** Runs one task. Returns false if there is none. */
  readonly runOne: () => boolean
  /** The number of tasks that were run. */
  readonly steps: () => number
}

type AnyFiber = RuntimeFiber<unknown, unknown>

interface Waiting {
  readonly task: Scheduler.Task
  readonly priority: number
}

/** The waiting tasks of one fiber. */
interface Lane {
  readonly owner: AnyFiber | undefined
  readonly waiting: Array<Waiting>
}

/** The number of operations that a fiber may run in a row with Effect's default scheduler. */
const longTurn = 2048
const shortTurn = 128
/** One of this many turns is short. */
const shortTurns = 4

export const makeScheduler = (seed: number): SeededScheduler => {
  const random = new PCGRandom(seed)
  const lanes = new Map<AnyFiber | undefined, Lane>()
  const ready: Array<Lane> = []
  /** The tasks that run before all others. */
  const urgent: Array<Scheduler.Task> = []
  /** The fibers that have had a turn, or whose start is already scheduled as urgent. */
  const startedFibers = new WeakSet<AnyFiber>()
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
      startedFibers.add(fiber)
      return starting.delete(fiber)
    }
    if (startedFibers.has(fiber)) return false
    startedFibers.add(fiber)
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
 * Whether the task is a turn of the fiber. Effect's concurrent loops start and interrupt their fibers by other tasks, and rely
 * on being started before they can be interrupted. Other schedulers ensure this by their order; otherwise such a loop never
 * ends.
 */
const isTurnOf = (fiber: AnyFiber, task: Scheduler.Task): boolean =>
  (fiber as unknown as { readonly run?: unknown }).run === task

/**
 * Whether a fiber may yield here. For the reason above, a fiber in an uninterruptible region yields only where every scheduler
 * makes it yield.
 */
const mayPause = (fiber: AnyFiber, turn: number): boolean =>
  turn === longTurn ||
  RuntimeFlags.interruptible(
    (fiber as unknown as { readonly currentRuntimeFlags: number }).currentRuntimeFlags as never
  )
