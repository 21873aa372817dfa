/**
 * Reads what servers write, a little of each server in every turn of the event loop. A server that writes without pause is
 * read as fast as the others allow: after its share of a turn its stream is paused, and the rest waits for the next turn.
 *
 * There is one event loop in a process, so there is one schedule for all servers of all supervisors in it. What fits into
 * its share is read where it arrives, without a timer and without a promise.
 */

/** Milliseconds of one turn that one server may use. */
const share = 2

/** Milliseconds of one turn that all servers together may use. */
const shareOfAll = 8

/** What is read between two looks at the clock, in the weight that steps tell: about the bytes of ten short messages. */
const stride = 4096

/** What a message weighs besides its bytes. */
export const messageWeight = 256

/** How many turns a server is left out after a single step that took many shares, such as a message of several megabytes. */
const longestRest = 16

/** Milliseconds that a clock waits at most for what has arrived to be read. */
const longestReading = 1000

/** How a stream is told that there is more than can be read now. */
export interface Flow {
  readonly pause: () => void
  readonly resume: () => void
}

/** One stream of a server. */
export interface Source {
  /** Something has arrived. Reads it, now or in a later turn. */
  readonly arrived: () => void
  /** Nothing more will arrive: `run` is called once everything is read. */
  readonly ended: (run: () => void) => void
  /** Reads all that has arrived, at once. */
  readonly flush: () => void
  /** Nothing of it is read any more. */
  readonly close: () => void
}

/** All streams of one server. */
export interface Intake {
  /** `step` reads one piece of what has arrived, such as a line, and gives its weight; 0 if there was none. */
  readonly source: (flow: Flow, step: () => number) => Source
  /** Nothing is read until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** Nothing is read any more. */
  readonly close: () => void
}

interface Reading {
  readonly server: Server
  readonly flow: Flow
  readonly step: () => number
  waits: boolean
  closed: boolean
  atEnd: (() => void) | undefined
}

interface Server {
  /** What has arrived and is not read. */
  readonly waiting: Set<Reading>
  paused: boolean
  closed: boolean
  turn: number
  /** Milliseconds used in that turn. */
  spent: number
  /** Turns in which it is left out. */
  rest: number
}

const queue = new Set<Server>()
let turn = 0
let spentByAll = 0
let scheduled = false
let arrivals = 0

const schedule = () => {
  if (scheduled) return
  scheduled = true
  setImmediate(nextTurn)
}

const nextTurn = () => {
  scheduled = false
  turn += 1
  spentByAll = 0
  // those that are not done come again in the next turn, not in this one
  for (const server of Array.from(queue)) {
    if (spentByAll >= shareOfAll) break
    queue.delete(server)
    if (server.rest > 0) server.rest -= 1
    else readWaiting(server)
    if (server.waiting.size > 0 && !server.paused) queue.add(server)
  }
  if (queue.size > 0) schedule()
}

/** Goes on with the streams of a server, the one that was read last after the others. */
const readWaiting = (server: Server) => {
  for (const reading of Array.from(server.waiting)) {
    server.waiting.delete(reading)
    if (read(reading)) {
      server.waiting.add(reading)
      return
    }
    finished(reading)
    if (server.paused || !hasTime(server)) return
  }
}

/** All that had arrived is read. */
const finished = (reading: Reading) => {
  reading.waits = false
  if (reading.closed) return
  const { atEnd } = reading
  reading.atEnd = undefined
  if (atEnd === undefined) reading.flow.resume()
  else atEnd()
}

const hasTime = (server: Server): boolean => {
  if (server.turn !== turn) {
    server.turn = turn
    server.spent = 0
  }
  return server.rest === 0 && server.spent < share && spentByAll < shareOfAll
}

/** Reads for as long as the share of this turn lasts. Whether something may be left. */
const read = (reading: Reading): boolean => {
  const { server } = reading
  if (!hasTime(server)) return true
  const began = performance.now()
  const until = began + Math.min(share - server.spent, shareOfAll - spentByAll)
  let unmeasured = 0
  let left = true
  while (!server.paused && !reading.closed) {
    const weight = reading.step()
    if (weight === 0) {
      left = false
      break
    }
    unmeasured += weight
    if (unmeasured < stride) continue
    unmeasured = 0
    if (performance.now() >= until) break
  }
  const took = performance.now() - began
  server.spent += took
  spentByAll += took
  if (!hasTime(server)) schedule()
  // only a step that cannot be divided takes that long
  if (took > 2 * share) server.rest = Math.min(longestRest, Math.floor(took / share))
  return left && !reading.closed
}

const suspend = (reading: Reading) => {
  const { server } = reading
  reading.waits = true
  reading.flow.pause()
  server.waiting.add(reading)
  if (server.paused) return
  queue.add(server)
  schedule()
}

const sourceOf = (server: Server, flow: Flow, step: () => number): Source => {
  const reading: Reading = { server, flow, step, waits: false, closed: server.closed, atEnd: undefined }
  return {
    arrived: () => {
      arrivals += 1
      if (reading.closed || reading.waits) return
      if (server.paused || read(reading)) suspend(reading)
    },
    ended: (run) => {
      if (reading.closed) return
      if (reading.waits) reading.atEnd = run
      else run()
    },
    flush: () => {
      while (!reading.closed && step() > 0) {
        // each step reads one piece
      }
    },
    close: () => {
      reading.closed = true
      server.waiting.delete(reading)
    }
  }
}

export const open = (): Intake => {
  const server: Server = { waiting: new Set(), paused: false, closed: false, turn, spent: 0, rest: 0 }
  const sources = new Set<Source>()
  return {
    source: (flow, step) => {
      const source = sourceOf(server, flow, step)
      const close = () => {
        sources.delete(source)
        source.close()
      }
      sources.add(source)
      return { ...source, close }
    },
    pause: () => {
      server.paused = true
      queue.delete(server)
    },
    resume: () => {
      if (!server.paused) return
      server.paused = false
      if (server.waiting.size === 0) return
      queue.add(server)
      schedule()
    },
    close: () => {
      server.closed = true
      for (const source of sources) source.close()
      sources.clear()
      queue.delete(server)
    }
  }
}

/**
 * Calls back when everything that has arrived by now is read: after a turn of the event loop that brings nothing more, or
 * after a second. The function it gives takes that back.
 */
export const afterReading = (run: () => void): (() => void) => {
  const until = performance.now() + longestReading
  let before = arrivals
  const look = () => {
    if ((arrivals === before && queue.size === 0) || performance.now() >= until) return run()
    before = arrivals
    immediate = setImmediate(look)
  }
  let immediate = setImmediate(look)
  return () => clearImmediate(immediate)
}
