/**
 * Edits TOML line by line. An entry in a form that this code does not support is not changed: the edit is rejected.
 */
import { stringify } from "smol-toml"
import type { EntryChange, MapPath } from "./changeText.js"
import { type Item, outline } from "../document/tomlOutline.js"

/** Returns the changed text. `undefined` if the change is not possible. */
export const editToml = (
  given: string | undefined,
  change: EntryChange,
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

/** Appends an entry after an empty line, or inserts it into an inline table. A file without a final line end stays so. */
const append = (text: string, target: MapPath, name: string, entry: object): string | undefined => {
  const items = outline(text)
  const map = items.find((item) => item.kind === "pair" && item.path.length === target.length && within(target, item))
  if (map !== undefined) return text[map.value] === "{" ? intoInline(text, items, map, [name], entry) : undefined
  const eol = eolOf(text)
  const document = target.reduceRight<object>((value, key) => ({ [key]: value }), { [name]: entry })
  const block = stringify(document).trim().split(/\r?\n/).join(eol)
  if (text === "") return block + eol
  return text.endsWith("\n") ? text + eol + block + eol : text + eol + eol + block
}

const within = (path: ReadonlyArray<string>, { path: other }: Item): boolean =>
  path.every((step, index) => other[index] === step)

/** Removes the lines of all tables and keys of the path, each from its start to the last line that belongs to it. */
const remove = (text: string, path: ReadonlyArray<string>): string | undefined => {
  const all = outline(text)
  const part = all.find((item) => item.inline && within(path, item) && around(all, item).path.length < path.length)
  // an entry with dotted keys is removed key by key
  if (part !== undefined) {
    const left = outOfInline(text, all, part)
    return left !== undefined && outline(left).some((item) => within(path, item)) ? remove(left, path) : left
  }
  const items = all.filter(({ inline }) => !inline)
  const ranges = items.flatMap((item, index): ReadonlyArray<Range> => {
    if (!within(path, item)) return []
    if (item.kind === "pair") {
      const header = items.slice(0, index).findLast(({ kind }) => kind !== "pair")
      // the pairs of a removed table are removed with it
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

/** Joins ranges with only white space between them. */
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

/** Extends a range by the empty line before it; at the end of a text without final line end, by one more line end. */
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
  if (own === undefined) return behindDotted(text, items, path, enabled)
  return own.kind === "pair" ? intoInline(text, items, own, ["enabled"], enabled) : intoTable(text, items, own, enabled)
}

const root: Item = { kind: "table", path: [], offset: 0, end: 0, value: 0, inline: false }

/** The item that contains an item: an inline table, or the table under whose header it is. */
const around = (items: ReadonlyArray<Item>, item: Item): Item => {
  const before = items.slice(0, items.indexOf(item))
  return (
    (item.inline
      ? before.findLast(({ end, kind, value }) => kind === "pair" && value <= item.offset && item.offset < end)
      : before.findLast(({ kind }) => kind !== "pair")) ?? root
  )
}

/** Adds a key to an entry in dotted keys (`a.command = …`), in the same form. */
const behindDotted = (
  text: string,
  items: ReadonlyArray<Item>,
  path: ReadonlyArray<string>,
  enabled: boolean
): string | undefined => {
  const last = items.findLast(
    (item) => item.kind === "pair" && within(path, item) && around(items, item).path.length < path.length
  )
  if (last === undefined) return undefined
  const key = [...path, "enabled"].slice(around(items, last).path.length)
  return last.inline
    ? replaceAt(text, last.end, last.end, `, ${pairText(key, enabled)}`)
    : behindLine(text, last, pairText(key, enabled))
}

const replaceAt = (text: string, from: number, to: number, by: string): string =>
  text.slice(0, from) + by + text.slice(to)

/** Inserts a line after an item, with the same indentation. */
const behindLine = (text: string, last: Item, line: string): string => {
  const at = lineEnd(text, last.end)
  const indented = text.slice(lineStart(text, last.offset), last.offset) + line
  const isOpenEnd = at === text.length && !text.endsWith("\n")
  return replaceAt(text, at, at, isOpenEnd ? eolOf(text) + indented : indented + eolOf(text))
}

const intoTable = (text: string, items: ReadonlyArray<Item>, header: Item, enabled: boolean): string => {
  const rest = items.slice(items.indexOf(header) + 1)
  const next = rest.findIndex(({ kind }) => kind !== "pair")
  const last = rest.slice(0, next === -1 ? rest.length : next).findLast(({ inline }) => !inline) ?? header
  return behindLine(text, last, pairText(["enabled"], enabled))
}

/** The direct children of an inline table. */
const inside = (items: ReadonlyArray<Item>, table: Item): ReadonlyArray<Item> =>
  items.filter((item) => item.inline && around(items, item) === table)

const intoInline = (
  text: string,
  items: ReadonlyArray<Item>,
  table: Item,
  key: ReadonlyArray<string>,
  value: unknown
): string => {
  const last = inside(items, table).at(-1)
  return last === undefined
    ? replaceAt(text, table.value + 1, table.value + 1, ` ${pairText(key, value)} `)
    : replaceAt(text, last.end, last.end, `, ${pairText(key, value)}`)
}

/**
 * Removes an item with the comma before it, or after it if it is the first. `undefined` if a comment would be removed or
 * would then belong to a neighbour.
 */
const outOfInline = (text: string, items: ReadonlyArray<Item>, item: Item): string | undefined => {
  const table = around(items, item)
  const siblings = inside(items, table)
  const index = siblings.indexOf(item)
  const [previous, next] = [siblings[index - 1], siblings[index + 1]]
  const from = previous?.end ?? table.value + 1
  const before = text.slice(from, item.offset)
  if (previous !== undefined) {
    const isRemarked = before.includes("\n") && /^[ \t]*,?[ \t]*#/.test(text.slice(item.end, table.end))
    return before.includes("#") || isRemarked ? undefined : replaceAt(text, from, item.end, "")
  }
  const behind = text.slice(item.end, next?.offset ?? table.end - 1)
  // reverts an insertion into an empty inline table
  if (before === " " && /^ [^,#]*(?:#|$)/.test(behind)) return replaceAt(text, from, item.end + 1, "")
  if (behind.includes("#")) return undefined
  if (next !== undefined) return replaceAt(text, item.offset, next.offset, "")
  return before.includes("#") ? undefined : replaceAt(text, from, table.end - 1, "")
}

const pairText = (key: ReadonlyArray<string>, value: unknown): string =>
  `${key.map((word) => (/^[\w-]+$/.test(word) ? word : JSON.stringify(word))).join(".")} = ${inlineText(value)}`

/** Renders a value on one line. A value that TOML cannot represent is rejected when the result is parsed again. */
const inlineText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(inlineText).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([key, item]) => pairText([key], item))
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`
}
