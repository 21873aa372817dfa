/**
 * Changes in TOML, line by line. What is written in a way that this does not know is left alone: the change is refused.
 */
import { stringify } from "smol-toml"
import type { Change, MapPath } from "./change.js"
import { type Item, outline } from "./tomlOutline.js"

/** The text after it; nothing where that cannot be done. */
export const editToml = (
  given: string | undefined,
  change: Change,
  holding: ReadonlyArray<MapPath>,
  target: MapPath
): string | undefined => {
  const text = given ?? ""
  switch (change._tag) {
    case "Add":
      return append(text, target, change.name, change.entry)
    case "Remove":
      return holding.reduce<string | undefined>((left, path) => left && remove(left, [...path, change.name]), text)
    case "Switch":
      return holding[0] === undefined
        ? append(text, target, change.name, { enabled: change.enabled })
        : turn(text, [...holding[0], change.name], change.enabled)
  }
}

const eolOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n")

/** At the end, after an empty line. A file without a line end at its end stays one. */
const append = (text: string, target: MapPath, name: string, entry: object): string => {
  const eol = eolOf(text)
  const document = target.reduceRight<object>((value, key) => ({ [key]: value }), { [name]: entry })
  const block = stringify(document).trim().split(/\r?\n/).join(eol)
  if (text === "") return block + eol
  return text.endsWith("\n") ? text + eol + block + eol : text + eol + eol + block
}

const within = (path: ReadonlyArray<string>, { path: other }: Item): boolean =>
  path.every((step, index) => other[index] === step)

/** The lines of all its tables and keys, each from its start to the end of the last line that belongs to it. */
const remove = (text: string, path: ReadonlyArray<string>): string | undefined => {
  const items = outline(text).filter(({ inline }) => !inline)
  const ranges = items.flatMap((item, index): ReadonlyArray<Range> => {
    if (!within(path, item)) return []
    if (item.kind === "pair") {
      const header = items.slice(0, index).findLast(({ kind }) => kind !== "pair")
      // those of a table that goes as a whole go with it
      return header !== undefined && within(path, header)
        ? []
        : [[lineStart(text, item.offset), lineEnd(text, item.end)]]
    }
    const next = items.findIndex(({ kind }, other) => other > index && kind !== "pair")
    const last = items[(next === -1 ? items.length : next) - 1]!
    return [[lineStart(text, item.offset), lineEnd(text, last.end)]]
  })
  if (ranges.length === 0) return undefined
  return joined(text, ranges).reduceRight(
    (left, [from, to]) => left.slice(0, withBlank(left, from, to)) + left.slice(to),
    text
  )
}

/** Tables that follow each other go as one. */
const joined = (text: string, ranges: ReadonlyArray<Range>): ReadonlyArray<Range> => {
  const all: Array<Range> = []
  for (const [from, to] of ranges) {
    const last = all.at(-1)
    const isNext = last !== undefined && text.slice(last[1], from).trim() === ""
    if (isNext) all.pop()
    all.push([isNext ? last[0] : from, to])
  }
  return all
}

type Range = readonly [from: number, to: number]

const lineStart = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1

const lineEnd = (text: string, offset: number): number => {
  const end = text.indexOf("\n", offset)
  return end === -1 ? text.length : end + 1
}

/** With the empty line before it; at an end without line end, also with the end of the line before that. */
const withBlank = (text: string, from: number, to: number): number => {
  const before = text.slice(0, from)
  const isOpenEnd = to === text.length && !text.endsWith("\n")
  const blank = (isOpenEnd ? /\r?\n\r?\n$/ : /(?<=^|\n)\r?\n$/).exec(before)
  return from - (blank?.[0].length ?? 0)
}

const turn = (text: string, path: ReadonlyArray<string>, enabled: boolean): string | undefined => {
  const items = outline(text)
  const find = (key: string) =>
    items.find(({ path: other }) => other.length === path.length + 1 && within([...path, key], { path: other } as Item))
  const on = find("enabled")
  const off = find("disabled")
  const replace = ({ end, value }: Item, by: boolean) => text.slice(0, value) + String(by) + text.slice(end)
  if (on !== undefined) return replace(on, enabled)
  if (off !== undefined) return replace(off, !enabled)
  const own = items.find((item) => item.path.length === path.length && within(path, item))
  if (own === undefined) return undefined
  return own.kind === "pair" ? intoInline(text, items, own, enabled) : intoTable(text, items, own, enabled)
}

const intoTable = (text: string, items: ReadonlyArray<Item>, header: Item, enabled: boolean): string => {
  const rest = items.slice(items.indexOf(header) + 1)
  const next = rest.findIndex(({ kind }) => kind !== "pair")
  const last = rest.slice(0, next === -1 ? rest.length : next).findLast(({ inline }) => !inline) ?? header
  const at = lineEnd(text, last.end)
  const indent = text.slice(lineStart(text, last.offset), last.offset)
  const line = `${indent}enabled = ${enabled}`
  const isOpenEnd = at === text.length && !text.endsWith("\n")
  return text.slice(0, at) + (isOpenEnd ? eolOf(text) + line : line + eolOf(text)) + text.slice(at)
}

const intoInline = (text: string, items: ReadonlyArray<Item>, pair: Item, enabled: boolean): string => {
  const inside = items.filter(
    ({ inline, offset, path }) =>
      inline && offset > pair.value && offset < pair.end && path.length === pair.path.length + 1
  )
  const last = inside.at(-1)
  const at = last === undefined ? pair.value + 1 : last.end
  return `${text.slice(0, at)}${last === undefined ? " " : ", "}enabled = ${enabled}${last === undefined ? " " : ""}${text.slice(at)}`
}
