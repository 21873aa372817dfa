/**
 * A text that was read, and how to say where in it something stands.
 */

export type Format = "json" | "toml"

export interface DocumentText {
  /** The file, or what else the text is called. */
  readonly name: string
  readonly format: Format
  /** Without a byte order mark. */
  readonly text: string
}

/** A place in a text. Lines and columns count from 1; a column is what an editor shows, in UTF-16 units. */
export interface Place {
  readonly file: string
  readonly line?: number
  readonly column?: number
}

/** JSON and JSONC are read alike: files called `.json` have comments more often than not. Without a known ending, by content. */
export const formatOf = (name: string, text: string): Format => {
  if (/\.toml$/i.test(name)) return "toml"
  if (/\.jsonc?$/i.test(name)) return "json"
  const start = text[behindComments(text)]
  return start === undefined || start === "{" ? "json" : "toml"
}

/** Where the first thing is that is neither space nor a comment of JSONC. */
const behindComments = (text: string): number => {
  let at = 0
  while (true) {
    while (/\s/.test(text[at] ?? "")) at += 1
    const end = text.startsWith("//", at) ? "\n" : text.startsWith("/*", at) ? "*/" : undefined
    if (end === undefined) return at
    const found = text.indexOf(end, at + 2)
    if (found === -1) return text.length
    at = found + end.length
  }
}

export const make = (name: string, raw: string): DocumentText => {
  const text = raw.startsWith("\uFEFF") ? raw.slice(1) : raw
  return { name, format: formatOf(name, text), text }
}

/** Where an offset is. */
export const placeOf = (text: DocumentText, offset: number | undefined): Place => {
  if (offset === undefined) return { file: text.name }
  const starts = lineStarts(text)
  let line = 0
  for (let step = 2 ** Math.ceil(Math.log2(starts.length + 1)); step >= 1; step /= 2) {
    if ((starts[line + step] ?? Number.POSITIVE_INFINITY) <= offset) line += step
  }
  return { file: text.name, line: line + 1, column: offset - starts[line]! + 1 }
}

const known = new WeakMap<DocumentText, ReadonlyArray<number>>()

/** Found once for each text: whoever makes one mistake makes many. */
const lineStarts = (text: DocumentText): ReadonlyArray<number> => {
  const before = known.get(text)
  if (before !== undefined) return before
  const starts = [0, ...Array.from(text.text.matchAll(/\r\n|\n|\r/g), ({ 0: end, index }) => index + end.length)]
  known.set(text, starts)
  return starts
}
