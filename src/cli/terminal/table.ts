/**
 * Text in columns that fit the width there is.
 */

import { largest } from "../../domain/internal/extremes.js"
import { revealHidden } from "./invisible.js"
import { plain, type Style } from "./style.js"

/** One cell: what it says, and how that is coloured once it has its width. */
export interface Cell {
  readonly text: string
  readonly paint?: ((text: string) => string) | undefined
}

export interface Column {
  readonly title: string
  /** May be cut to make room. The others are cut only when that is not enough. */
  readonly flexible?: boolean | undefined
}

const gap = 2

/** One line without control characters, which would move the cursor, and with hidden characters made visible. */
export const oneLine = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  revealHidden(text.replace(/[^\S\ufeff]+/g, " ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "�"))

/**
 * The same for a text of several lines, in which tabs stay. Of colours those stay that we use ourselves, where there are any:
 * whoever has written them, they do not last longer than the text.
 */
export const harmless = (text: string, style: Style): string => {
  let isPainted = false
  const clean = text.replaceAll("\r\n", "\n").replace(harmful, (_, colour: string | undefined) => {
    if (colour === undefined) return "�"
    if (style === plain || !ours.test(colour)) return ""
    isPainted = true
    return colour
  })
  const shown = revealHidden(clean)
  return isPainted ? `${shown}\u001b[0m` : shown
}

// oxlint-disable-next-line no-control-regex
const harmful = /(\u001b\[[0-9;]{0,32}m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

const ours = /\[(?:0?|[12]|22|3[1236]|39)m$/

/** Exact JSON in which control characters and hidden characters are escaped. */
export const visible = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  revealHidden(json.replace(/[\u007f-\u009f]/g, escapeUnits), (codePoint) =>
    escapeUnits(String.fromCodePoint(codePoint))
  )

const escapeUnits = (text: string): string =>
  text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")

/** How many columns of a terminal a text takes: some characters take two, some none. */
export const widthOf = (text: string): number => {
  // what takes time is only for those who need it
  if (/^[\u0020-\u007e\u00a1-\u02ff\u2010-\u2027\u2190-\u2193]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter().segment(text)) width += isWide(segment) ? 2 : 1
  return width
}

let shared: Intl.Segmenter | undefined
const segmenter = (): Intl.Segmenter => (shared ??= new Intl.Segmenter(undefined, { granularity: "grapheme" }))

const isWide = (segment: string): boolean =>
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(
    segment
  )

/** The text, or as much of it as fits, with a sign that there is more. */
export const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  let used = 0
  let kept = ""
  for (const { segment } of segmenter().segment(text)) {
    used += isWide(segment) ? 2 : 1
    if (used > width - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** Where there is no width that says so, no column is wider than this for the sake of one long text in it. */
const widest = 60

/** Without a width (no terminal), nothing is cut. */
export const table = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>,
  options: { readonly width?: number | undefined; readonly head: (text: string) => string }
): ReadonlyArray<string> => {
  const cells = rows.map((row) => row.map((cell) => ({ ...cell, text: oneLine(cell.text) })))
  const wanted = columns.map(({ title }, index) =>
    largest(
      cells.map((row) => widthOf(row[index]?.text ?? "")),
      widthOf(title)
    )
  )
  const isCut = options.width !== undefined
  const widths = isCut ? fitted(columns, wanted, options.width) : wanted.map((each) => Math.min(each, widest))
  const line = (row: ReadonlyArray<Cell>): string =>
    row
      .map(({ paint, text }, index) => {
        const shown = isCut ? cut(text, widths[index]!) : text
        const padding = index === row.length - 1 ? "" : " ".repeat(Math.max(widths[index]! - widthOf(shown), 0))
        return `${paint === undefined ? shown : paint(shown)}${padding}`
      })
      .join(" ".repeat(gap))
      .trimEnd()
  const head = columns.map(({ title }): Cell => ({ text: title, paint: options.head }))
  return [head, ...cells].map(line)
}

/** Takes from the widest flexible column until it fits, then from the widest of all. */
export const fitted = (
  columns: ReadonlyArray<Column>,
  wanted: ReadonlyArray<number>,
  width: number
): ReadonlyArray<number> => {
  const widths = [...wanted]
  const least = 4
  let excess = widths.reduce((sum, each) => sum + each, gap * (widths.length - 1)) - width
  for (const isFlexible of [true, false]) {
    while (excess > 0) {
      const candidates = widths
        .map((each, index) => ({ each, index }))
        .filter(({ each, index }) => each > least && (columns[index]!.flexible ?? false) === isFlexible)
      if (candidates.length === 0) break
      const widest = candidates.reduce((best, next) => (next.each > best.each ? next : best))
      const second = largest(
        candidates.filter((each) => each !== widest).map(({ each }) => each),
        least
      )
      const take = Math.min(excess, Math.max(1, widest.each - second))
      widths[widest.index] = widest.each - take
      excess -= take
    }
  }
  return widths
}

/** Lines of words no longer than the width, where words allow it. */
export const wrap = (text: string, width: number): ReadonlyArray<string> =>
  text.split("\n").flatMap((raw) => {
    const paragraph = raw
      .split(/[\t ]|\r$/)
      .map(oneLine)
      .join(" ")
      .trimEnd()
    const lines: Array<string> = []
    let line = ""
    for (const word of paragraph.split(" ")) {
      if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
        lines.push(line)
        line = word
      } else line = line === "" ? word : `${line} ${word}`
    }
    return [...lines, line]
  })
