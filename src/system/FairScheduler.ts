/**
 * A scheduler for Effect that lets the event loop turn. Effect's own goes on as long as there is something to do: while
 * thousands of fibers are busy, no signal, timer or socket is looked at.
 *
 * @since 0.1.0
 */
import * as FiberRef from "effect/FiberRef"
import type * as Scheduler from "effect/Scheduler"

/** Fibers run for this many milliseconds in one turn of the event loop. */
const defaultSlice = 5

/** A look at the clock costs more than a step of a fiber: it is looked at after this many steps. */
const stepsBetweenLooks = 64

/**
 * Fibers run as they do with Effect's own scheduler, but for at most a few milliseconds in each turn of the event loop; what is
 * left to do then is done in the next one. A program that supervises hundreds of servers gives it to the runtime it uses:
 *
 * ```ts
 * Effect.runFork(program, { scheduler: FairScheduler.make() })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: {
    /** Milliseconds for which fibers run before the event loop turns. Defaults to 5. */
    readonly slice?: number | undefined
  } = {}
): Scheduler.Scheduler => {
  const { slice = defaultSlice } = options
  const lanes: Array<Lane> = []
  /** Whether a run of the waiting tasks is planned. */
  let isAwaited = false
  /** Whether they have to wait until the event loop has turned. */
  let isDeferred = false
  /** When the slice of this turn ends; absent if nothing ran in this turn so far. */
  let endsAt: number | undefined

  const isOver = (): boolean => {
    if (endsAt === undefined) {
      endsAt = performance.now() + slice
      setImmediate(turned)
      return false
    }
    return performance.now() >= endsAt
  }

  const turned = () => {
    endsAt = undefined
    if (!isDeferred) return
    isDeferred = false
    run()
  }

  const plan = () => {
    isAwaited = true
    if (isOver()) isDeferred = true
    else queueMicrotask(run)
  }

  const run = () => {
    isAwaited = false
    // what is added meanwhile waits until promises have had their turn
    for (const { lane, end } of lanes.map((lane) => ({ lane, end: lane.tasks.length }))) {
      while (lane.next < end && !isOver()) lane.tasks[lane.next++]!()
      tidy(lane)
    }
    if (!isAwaited && lanes.some(({ next, tasks }) => next < tasks.length)) plan()
  }

  const laneOf = (priority: number): Lane => {
    const found = lanes.find((lane) => lane.priority === priority)
    if (found !== undefined) return found
    const lane: Lane = { priority, tasks: [], next: 0 }
    lanes.push(lane)
    lanes.sort((a, b) => a.priority - b.priority)
    return lane
  }

  return {
    shouldYield: (fiber) => {
      if (fiber.currentOpCount % stepsBetweenLooks !== 0) return false
      const isLong = fiber.currentOpCount > fiber.getFiberRef(FiberRef.currentMaxOpsBeforeYield)
      return isLong || isOver() ? fiber.getFiberRef(FiberRef.currentSchedulingPriority) : false
    },
    scheduleTask: (task, priority) => {
      laneOf(priority).tasks.push(task)
      if (!isAwaited) plan()
    }
  }
}

/** Tasks of one priority. Those before `next` are done. */
interface Lane {
  readonly priority: number
  readonly tasks: Array<Scheduler.Task>
  next: number
}

/** Forgets what is done: at once where that is all, otherwise not each time, because it moves all that is left. */
const tidy = (lane: Lane): void => {
  if (lane.next < lane.tasks.length && lane.next < 1024) return
  lane.tasks.splice(0, lane.next)
  lane.next = 0
}
