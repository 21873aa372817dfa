/**
 * A document's text, and how offsets in it become lines and columns.
 */

export type Format = "json" | "toml"

export interface DocumentText {
  /** The path of the file, or another name of the text. */
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

/** The format by file extension, otherwise by content. JSON is read as JSONC: files called `.json` often have comments. */
export const formatOf = (name: string, text: string): Format => {
  if (/\.toml$/i.test(name)) return "toml"
  if (/\.jsonc?$/i.test(name)) return "json"
  const start = text[behindComments(text)]
  return start === undefined || start === "{" ? "json" : "toml"
}

/** The offset of the first character that is neither white space nor part of a JSONC comment. */
const behindComments = (text: string): number => {
  let at = 0
  while (true) {
    while (/\s/.test(text[at] ?? "")) at += 1
    const end = text.startsWith("//", at) ? "\n" : text.startsWith("/*", at) ? "*/" : undefined
    if (end === undefined) return at
    const index = text.indexOf(end, at + 2)
    if (index === -1) return text.length
    at = index + end.length
  }
}

export const make = (name: string, raw: string): DocumentText => {
  const text = raw.startsWith("\uFEFF") ? raw.slice(1) : raw
  return { name, format: formatOf(name, text), text }
}

/** Converts an offset to a line and a column. */
export const placeOf = (text: DocumentText, offset: number | undefined): Place => {
  if (offset === undefined) return { file: text.name }
  const starts = lineStarts(text)
  let line = 0
  for (let step = 2 ** Math.ceil(Math.log2(starts.length + 1)); step >= 1; step /= 2) {
    if ((starts[line + step] ?? Number.POSITIVE_INFINITY) <= offset) line += step
  }
  return { file: text.name, line: line + 1, column: offset - starts[line]! + 1 }
}

const lineStartsByText = new WeakMap<DocumentText, ReadonlyArray<number>>()

/** Computed once per text, because a text with one issue often has many. */
const lineStarts = (text: DocumentText): ReadonlyArray<number> => {
  const cached = lineStartsByText.get(text)
  if (cached !== undefined) return cached
  const starts = [0, ...Array.from(text.text.matchAll(/\r\n|\n|\r/g), ({ 0: end, index }) => index + end.length)]
  lineStartsByText.set(text, starts)
  return starts
}
