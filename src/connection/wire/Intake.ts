/**
 * Shares the event loop fairly between the servers whose output is read. A server that writes without pause is read as fast as
 * the others allow: after its share of a turn its stream is paused, and the rest waits for the next turn.
 *
 * A process has one event loop, so there is one schedule for all servers of all supervisors in it. Data that fits into the
 * share is read immediately when it arrives, without a timer and without a promise.
 */

/** Milliseconds of one turn that one server may use. */
const share = 2

/** Milliseconds of one turn that all servers together may use. */
const shareOfAll = 8

/** The weight that is read between two looks at the clock: about the bytes of ten short messages. */
const stride = 4096

/** The weight of a message in addition to its bytes. */
export const messageWeight = 256

/**
 * The maximum number of turns that a server skips after a single step that took many shares, such as a message of several
 * megabytes.
 */
const longestRest = 16

/** The maximum time in milliseconds that `afterReading` waits. */
const longestReading = 1000

/** Pauses and resumes the underlying stream. */
export interface Flow {
  readonly pause: () => void
  readonly resume: () => void
}

/** One stream of a server. */
export interface Source {
  /** Reports that data has arrived. It is read now or in a later turn. */
  readonly arrived: () => void
  /** Reports that no more data will arrive. `run` is called when everything is read. */
  readonly ended: (run: () => void) => void
  /** Reads everything that has arrived, immediately. */
  readonly flush: () => void
  /** Stops reading this stream for good. */
  readonly close: () => void
}

/** All streams of one server. */
export interface Intake {
  /**
   * Adds a stream. `step` reads one piece of the data that has arrived, such as a line, and returns its weight, or 0 if there
   * was none.
   */
  readonly source: (flow: Flow, step: () => number) => Source
  /** Stops reading until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** Stops reading for good. */
  readonly close: () => void
}

interface SourceState {
  readonly server: Server
  readonly flow: Flow
  readonly step: () => number
  waits: boolean
  closed: boolean
  atEnd: (() => void) | undefined
}

interface Server {
  /** Streams with data that has arrived and is not read. */
  readonly waiting: Set<SourceState>
  paused: boolean
  closed: boolean
  turn: number
  /** Milliseconds used in that turn. */
  spent: number
  /** The number of turns that this server still skips. */
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
  // The copy keeps servers that are added again for the next turn.
  for (const server of Array.from(queue)) {
    if (spentByAll >= shareOfAll) break
    queue.delete(server)
    if (server.rest > 0) server.rest -= 1
    else readWaiting(server)
    if (server.waiting.size > 0 && !server.paused) queue.add(server)
  }
  if (queue.size > 0) schedule()
}

/** Reads the waiting streams of a server. A stream that is not finished goes to the end of the queue. */
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

/** Resumes the stream, or runs its end callback: all data that had arrived is read. */
const finished = (reading: SourceState) => {
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

/** Reads until the share of this turn is used up. Returns whether data may be left. */
const read = (reading: SourceState): boolean => {
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
  // Only a single long step can exceed the share by that much.
  if (took > 2 * share) server.rest = Math.min(longestRest, Math.floor(took / share))
  return left && !reading.closed
}

const suspend = (reading: SourceState) => {
  const { server } = reading
  reading.waits = true
  reading.flow.pause()
  server.waiting.add(reading)
  if (server.paused) return
  queue.add(server)
  schedule()
}

const sourceOf = (server: Server, flow: Flow, step: () => number): Source => {
  const reading: SourceState = { server, flow, step, waits: false, closed: server.closed, atEnd: undefined }
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
        // Each step reads one piece.
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
 * Calls `run` when everything that has arrived by now is read: after a turn of the event loop without new data, or after a
 * second. Returns a function that cancels it.
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
