/**
 * What a process writes besides messages: always read, scrubbed, and kept within bounds however much it is. The last lines
 * outlive the process.
 */
import type * as Protocol from "../../domain/catalog/Protocol.js"
import * as ByteBuffer from "../wire/ByteBuffer.js"
import { detachText } from "../../system/detachText.js"

export interface ProcessLog {
  /** Bytes of stderr. */
  readonly stderr: (chunk: Buffer) => void
  /** A line of stdout that is no message. */
  readonly stray: (text: string) => void
  /** Everything that waits is written now. */
  readonly flush: () => void
  /** The last lines of stderr. */
  readonly tail: () => string
  /** How many lines of stdout were no messages. */
  readonly strayLines: () => number
}

/** A longer line is cut: it is no text for people. */
const maxLine = 8 * 1024

/** More of a line is not even looked at. */
const maxScrubbed = 2 * maxLine

/** What is read in one go of {@link flushAfter}. A process that writes faster loses the lines before. */
const maxPending = 64 * 1024

/** Milliseconds. Scrubbing takes time, and a flood must not take it from the calls. */
const flushAfter = 20

/** Of the lines that are kept for an error message. */
const maxTail = 16 * 1024

type Source = "stderr" | "stdout"

export const make = (options: {
  readonly scrub: (text: string) => string
  /** The same for a text that goes on where we do not see it. */
  readonly scrubBeginning: (text: string) => string
  readonly onLine: (line: Protocol.LogLine) => void
}): ProcessLog => {
  const partial = ByteBuffer.make()
  let pending: Array<readonly [Source, string]> = []
  let pendingSize = 0
  let dropped = 0
  let strayLines = 0
  let timer: NodeJS.Timeout | undefined
  let tail: Array<string> = []
  let tailSize = 0

  const write = (source: Source, text: string) => {
    options.onLine({ at: Date.now(), source, text })
    if (source === "stdout") return
    tail.push(text)
    tailSize += text.length + 1
    while (tailSize > maxTail && tail.length > 1) tailSize -= tail.shift()!.length + 1
  }

  /** The last cut comes after scrubbing: before, it could leave half a secret. */
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

  const add = (source: Source, text: string) => {
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
      // of an endless line only the beginning is kept
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
    // once more for all lines together: a secret may go over the end of one
    tail: () => options.scrub(tail.join("\n"))
  }
}

const newline = 0x0a
