/**
 * Collects, scrubs and limits what a process writes besides messages. The last lines are kept after the process has ended.
 */
import type * as Protocol from "../../domain/catalog/Protocol.js"
import * as ByteBuffer from "../wire/ByteBuffer.js"
import { detachText } from "../../system/detachText.js"

export interface ProcessLog {
  /** Adds bytes of stderr. */
  readonly stderr: (chunk: Buffer) => void
  /** Adds a line of stdout that is no message. */
  readonly stray: (text: string) => void
  /** Writes all pending lines immediately. */
  readonly flush: () => void
  /** The last lines of stderr. */
  readonly tail: () => string
  /** The number of stdout lines that were no messages. */
  readonly strayLines: () => number
}

/** The maximum length of a line. A longer one is cut: it is not written for people. */
const maxLine = 8 * 1024

/** The number of characters of a line that are scrubbed; the rest is discarded. */
const maxScrubbed = 2 * maxLine

/**
 * The maximum number of characters collected during {@link flushAfter}. If a process writes faster, the oldest lines are
 * dropped.
 */
const maxPending = 64 * 1024

/** Milliseconds. Scrubbing takes time, and a flood of lines must not delay calls. */
const flushAfter = 20

/** The maximum size of the lines that are kept for error messages. */
const maxTail = 16 * 1024

type LogSource = "stderr" | "stdout"

export const make = (options: {
  readonly scrub: (text: string) => string
  /** Scrubs the beginning of a text whose rest is unknown. */
  readonly scrubBeginning: (text: string) => string
  readonly onLine: (line: Protocol.LogLine) => void
}): ProcessLog => {
  const partial = ByteBuffer.make()
  let pending: Array<readonly [LogSource, string]> = []
  let pendingSize = 0
  let dropped = 0
  let strayLines = 0
  let timer: NodeJS.Timeout | undefined
  let tail: Array<string> = []
  let tailSize = 0

  const write = (source: LogSource, text: string) => {
    options.onLine({ at: Date.now(), source, text })
    if (source === "stdout") return
    tail.push(text)
    tailSize += text.length + 1
    while (tailSize > maxTail && tail.length > 1) tailSize -= tail.shift()!.length + 1
  }

  /** Scrubs a line and cuts it. It is cut after scrubbing: a cut before could leave half a secret. */
  const clean = (text: string): string => {
    const shown = text.length < maxScrubbed ? options.scrub(text) : options.scrubBeginning(text)
    return text.length > maxLine ? detachText(`${shown.slice(0, maxLine)}…`) : shown
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const lines = pending
    if (dropped > 0) write("stderr", `… ${dropped} lines left out: they came faster than they can be kept`)
    pending = []
    pendingSize = 0
    dropped = 0
    for (const [source, text] of lines) write(source, clean(text))
  }

  const add = (source: LogSource, text: string) => {
    const line = text.endsWith("\r") ? text.slice(0, -1) : text
    if (line.trim() === "") return
    pending.push([source, line.slice(0, maxScrubbed)])
    pendingSize += Math.min(line.length, maxScrubbed)
    while (pendingSize > maxPending && pending.length > 1) {
      pendingSize -= pending.shift()![1].length
      dropped += 1
    }
    timer ??= setTimeout(flush, flushAfter).unref()
  }

  const takePartial = (end: Buffer): string => {
    if (partial.size() === 0) return end.toString("utf8", 0, maxScrubbed * 4)
    partial.add(end)
    return partial.take().toString("utf8")
  }

  return {
    stderr: (chunk) => {
      let from = 0
      for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
        if (to > from || partial.size() > 0) add("stderr", takePartial(chunk.subarray(from, to)))
        from = to + 1
      }
      // Only the beginning of an endless line is kept.
      if (from < chunk.length && partial.size() < 4 * maxLine) partial.add(chunk.subarray(from, from + 4 * maxLine))
    },
    stray: (text) => {
      if (text.trim() !== "") strayLines += 1
      add("stdout", text)
    },
    strayLines: () => strayLines,
    flush: () => {
      if (partial.size() > 0) add("stderr", takePartial(Buffer.alloc(0)))
      flush()
    },
    // Scrubs all lines together: a secret may span several lines.
    tail: () => options.scrub(tail.join("\n"))
  }
}

const newline = 0x0a
