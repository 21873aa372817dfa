/**
 * Fits text to the width of a terminal: tables, wrapped lines, and texts without characters that could move the cursor.
 */
import { largest } from "../../domain/internal/extremes.js"
import { revealHidden } from "./invisible.js"
import { plain, type Style } from "./style.js"

/** The text of one cell. `paint` colours it after it is cut to its width. */
export interface Cell {
  readonly text: string
  readonly paint?: ((text: string) => string) | undefined
}

export interface Column {
  readonly title: string
  /** Cut first when the table is too wide. The other columns are cut only if that is not enough. Defaults to false. */
  readonly flexible?: boolean | undefined
}

const gap = 2

/** Converts a text to one line: white space becomes spaces, control characters `�`, hidden characters visible. */
export const oneLine = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  revealHidden(text.replace(/[^\S\ufeff]+/g, " ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "�"))

/**
 * Removes everything from a text of several lines that could move the cursor, and makes hidden characters visible. Tabs stay, and
 * so do the colours of {@link Style} unless the style is plain. Colours are reset at the end of the text, because a server may
 * have written them.
 */
export const harmless = (text: string, style: Style): string => {
  let isColoured = false
  const clean = text.replaceAll("\r\n", "\n").replace(harmful, (_, colour: string | undefined) => {
    if (colour === undefined) return "�"
    if (style === plain || !styleColour.test(colour)) return ""
    isColoured = true
    return colour
  })
  const shown = revealHidden(clean)
  return isColoured ? `${shown}\u001b[0m` : shown
}

// oxlint-disable-next-line no-control-regex
const harmful = /(\u001b\[[0-9;]{0,32}m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

const styleColour = /\[(?:0?|[12]|22|3[1236]|39)m$/

/** Escapes control characters and hidden characters in JSON. The value stays the same. */
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

/** Returns the number of columns that a text takes on a terminal. Wide characters take two, combining marks none. */
export const widthOf = (text: string): number => {
  // Segmentation is slow, and most texts need none.
  if (/^[\u0020-\u007e\u00a1-\u02ff\u2010-\u2027\u2190-\u2193]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter().segment(text)) width += isWide(segment) ? 2 : 1
  return width
}

let shared: Intl.Segmenter | undefined
const segmenter = (): Intl.Segmenter => (shared ??= new Intl.Segmenter(undefined, { granularity: "grapheme" }))

/** Emoji, and the scripts of East Asia. */
const wide = new RegExp(
  "\\p{Emoji_Presentation}|[\\ufe0f\\u20e3\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\ua960-\\ua97c\\uac00-\\ud7a3" +
    "\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6\\u{16fe0}-\\u{1b2ff}\\u{20000}-\\u{3fffd}]",
  "u"
)

const isWide = (segment: string): boolean => wide.test(segment)

/** Cuts a text to a width. A cut text ends with `…`. */
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

/** The maximum padding of a column if the table has no width, so that one long text does not widen all rows. */
const widest = 60

/** Renders a table. Without a width (no terminal), nothing is cut. */
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

/** Reduces the widest flexible column until the table fits, then the widest of the others. */
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

/** Breaks a text into lines between words. A word that is longer than the width gets a line of its own. */
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
