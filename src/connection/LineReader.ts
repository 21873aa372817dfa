/**
 * Cuts a stream of bytes into lines, in time linear in its length however it is chopped up.
 */
export const make = (options: {
  /** Bytes. A longer line is not read to its end. */
  readonly limit: number
  readonly line: (text: string) => void
  readonly overflow: () => void
}): ((chunk: Buffer) => void) => {
  let parts: Array<Buffer> = []
  let size = 0

  const keep = (part: Buffer) => {
    if (part.length === 0) return
    parts.push(part)
    size += part.length
  }

  const flush = (chunk: Buffer, from: number, to: number): string => {
    if (size === 0) return chunk.toString("utf8", from, to)
    keep(chunk.subarray(from, to))
    const text = Buffer.concat(parts, size).toString("utf8")
    parts = []
    size = 0
    return text
  }

  return (chunk) => {
    let from = 0
    for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
      options.line(flush(chunk, from, to))
      from = to + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
    if (size > options.limit) {
      parts = []
      size = 0
      options.overflow()
    }
  }
}

const newline = 0x0a
