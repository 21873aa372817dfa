/**
 * A scheduler for Effect that returns to the event loop every few milliseconds. Effect's default scheduler runs as long as there
 * are tasks: while thousands of fibers are busy, no signal, timer or socket is handled.
 *
 * @since 0.1.0
 */
import * as FiberRef from "effect/FiberRef"
import type * as Scheduler from "effect/Scheduler"

/** Milliseconds for which fibers run in one turn of the event loop. */
const defaultSlice = 5

/** Steps of a fiber between two reads of the clock. Reading the clock costs more than a step. */
const stepsBetweenClockReads = 64

/**
 * Creates a scheduler that runs fibers in the order of Effect's default scheduler, but for at most a few milliseconds in each
 * turn of the event loop. The remaining tasks run in the next turn. A program that supervises hundreds of servers passes it to
 * its runtime:
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
    /** Milliseconds for which fibers run before control returns to the event loop. Defaults to 5. */
    readonly slice?: number | undefined
  } = {}
): Scheduler.Scheduler => {
  const { slice = defaultSlice } = options
  const lanes: Array<Lane> = []
  /** Whether a run of the waiting tasks is scheduled. */
  let isRunScheduled = false
  /** Whether that run waits for the next turn of the event loop. */
  let isDeferredToNextTurn = false
  /** When the slice of this turn ends; absent if no task ran in this turn so far. */
  let endsAt: number | undefined

  const isSliceOver = (): boolean => {
    if (endsAt === undefined) {
      endsAt = performance.now() + slice
      setImmediate(startTurn)
      return false
    }
    return performance.now() >= endsAt
  }

  const startTurn = () => {
    endsAt = undefined
    if (!isDeferredToNextTurn) return
    isDeferredToNextTurn = false
    runTasks()
  }

  const scheduleRun = () => {
    isRunScheduled = true
    if (isSliceOver()) isDeferredToNextTurn = true
    else queueMicrotask(runTasks)
  }

  const runTasks = () => {
    isRunScheduled = false
    // tasks added during this run wait, so that pending promise callbacks run first
    for (const { lane, end } of lanes.map((lane) => ({ lane, end: lane.tasks.length }))) {
      while (lane.next < end && !isSliceOver()) lane.tasks[lane.next++]!()
      removeCompletedTasks(lane)
    }
    if (!isRunScheduled && lanes.some(({ next, tasks }) => next < tasks.length)) scheduleRun()
  }

  const laneFor = (priority: number): Lane => {
    const existing = lanes.find((lane) => lane.priority === priority)
    if (existing !== undefined) return existing
    const lane: Lane = { priority, tasks: [], next: 0 }
    lanes.push(lane)
    lanes.sort((a, b) => a.priority - b.priority)
    return lane
  }

  return {
    shouldYield: (fiber) => {
      if (fiber.currentOpCount % stepsBetweenClockReads !== 0) return false
      const isLong = fiber.currentOpCount > fiber.getFiberRef(FiberRef.currentMaxOpsBeforeYield)
      return isLong || isSliceOver() ? fiber.getFiberRef(FiberRef.currentSchedulingPriority) : false
    },
    scheduleTask: (task, priority) => {
      laneFor(priority).tasks.push(task)
      if (!isRunScheduled) scheduleRun()
    }
  }
}

/** The tasks of one priority. Those before `next` have run. */
interface Lane {
  readonly priority: number
  readonly tasks: Array<Scheduler.Task>
  next: number
}

/** Removes the tasks that have run. If others remain, only after 1024 tasks, because the removal moves all others. */
const removeCompletedTasks = (lane: Lane): void => {
  if (lane.next < lane.tasks.length && lane.next < 1024) return
  lane.tasks.splice(0, lane.next)
  lane.next = 0
}
