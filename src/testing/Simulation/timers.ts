/**
 * A queue of timers by due time; timers of the same time keep the order in which they were added.
 *
 * It is a binary heap in which each timer knows its index, so that a cancelled timer is removed immediately: most timers are
 * cancelled.
 */
export interface Timers {
  /** Adds a timer. The returned function cancels it and returns whether it was still pending. */
  readonly add: (at: number, task: () => void) => () => boolean
  /** The due time of the first timer. */
  readonly nextAt: () => number | undefined
  /** Removes the first timer and returns its task. */
  readonly take: () => (() => void) | undefined
  readonly size: () => number
}

interface Timer {
  readonly at: number
  readonly order: number
  readonly task: () => void
  /** The index in the heap, or -1 once the timer was removed. */
  index: number
}

export const makeTimers = (): Timers => {
  const heap: Array<Timer> = []
  let count = 0

  const place = (timer: Timer, index: number) => {
    heap[index] = timer
    timer.index = index
  }

  const rise = (timer: Timer) => {
    let { index } = timer
    while (index > 0) {
      const above = (index - 1) >> 1
      if (!isBefore(timer, heap[above]!)) break
      place(heap[above]!, index)
      index = above
    }
    place(timer, index)
  }

  const sink = (timer: Timer) => {
    let { index } = timer
    for (;;) {
      const left = 2 * index + 1
      if (left >= heap.length) break
      const right = left + 1
      const first = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left
      if (!isBefore(heap[first]!, timer)) break
      place(heap[first]!, index)
      index = first
    }
    place(timer, index)
  }

  const remove = (timer: Timer): boolean => {
    const { index } = timer
    if (index < 0) return false
    timer.index = -1
    const last = heap.pop()!
    if (last !== timer) {
      place(last, index)
      sink(last)
      rise(last)
    }
    return true
  }

  return {
    add: (at, task) => {
      const timer: Timer = { at, order: count++, task, index: heap.length }
      heap.push(timer)
      rise(timer)
      return () => remove(timer)
    },
    nextAt: () => heap[0]?.at,
    take: () => {
      const first = heap[0]
      if (first === undefined) return undefined
      remove(first)
      return first.task
    },
    size: () => heap.length
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
