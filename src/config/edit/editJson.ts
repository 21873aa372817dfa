/**
 * Edits JSON and JSONC without touching the rest: comments, order, spacing and line ends stay. Removing what was added
 * restores the previous text byte for byte.
 */
import { createScanner, findNodeAtLocation, getNodeValue, type Node, parseTree, type SyntaxKind } from "jsonc-parser"
import type { EntryChange, MapPath } from "./changeText.js"
import { jsonOptions } from "../document/parseJson.js"

/** Returns the changed text. `undefined` if the change is not possible. */
export const editJson = (
  /** Absent for a file that does not exist. */
  given: string | undefined,
  change: EntryChange,
  /** The objects that contain this server. */
  holding: ReadonlyArray<MapPath>,
  /** The object for a new server. It may not exist yet. */
  target: MapPath
): string | undefined => {
  const text = given ?? ""
  if (text.trim() === "") {
    if (change._tag === "Remove") return undefined
    const entry = change._tag === "Add" ? change.entry : { enabled: change.enabled }
    const document = fresh(text, target, change.name, entry)
    // the empty line before the document lets a later removal restore the empty file
    return given === undefined ? document : text + eolOf(text) + document
  }
  switch (change._tag) {
    case "Add":
      return add(text, target, change.name, change.entry)
    case "Remove":
      return (
        emptied(text, holding, change.name) ??
        holding.reduce<string | undefined>((left, path) => left && remove(left, [...path, change.name]), text)
      )
    case "Switch":
      return holding[0] === undefined
        ? add(text, target, change.name, { enabled: change.enabled })
        : turn(text, [...holding[0], change.name], change.enabled)
  }
}

/** A new document with one server. */
const fresh = (text: string, target: MapPath, name: string, entry: unknown): string => {
  const document = target.reduceRight<unknown>((value, key) => ({ [key]: value }), { [name]: entry })
  const eol = eolOf(text)
  return JSON.stringify(document, null, 2).replaceAll("\n", eol) + eol
}

/** The text before the document was added, if the whole document was added with this server. */
const emptied = (text: string, [path]: ReadonlyArray<MapPath>, name: string): string | undefined => {
  const [, blank, eol, document] = /^(\s*?)(\r?\n)(\{[^]*)$/.exec(text) ?? []
  if (path === undefined || blank === undefined || eol !== eolOf(text)) return undefined
  const entry = nodeAt(text, [...path, name])
  return entry !== undefined && document === fresh(text, path, name, getNodeValue(entry)) ? blank : undefined
}

const nodeAt = (text: string, path: ReadonlyArray<string>): Node | undefined => {
  const root = parseTree(text, [], jsonOptions)
  return root && findNodeAtLocation(root, [...path])
}

const add = (text: string, target: MapPath, name: string, entry: object): string | undefined => {
  const map = nodeAt(text, target)
  if (map !== undefined) return map.type === "object" ? insert(text, map, name, entry, false) : undefined
  const around = nodeAt(text, target.slice(0, -1))
  if (around?.type !== "object") return undefined
  // the extra space lets a later removal see that the object was added with its content
  return insert(text, around, target.at(-1)!, { [name]: entry }, true)
}

const remove = (text: string, path: ReadonlyArray<string>): string | undefined => {
  const property = nodeAt(text, path)?.parent
  const map = property?.parent
  if (map === undefined || property === undefined) return undefined
  const holder = map.parent
  return map.children?.length === 1 && holder?.type === "property" && cameWith(text, map, property)
    ? cut(text, holder.parent!, holder, true)
    : cut(text, map, property, false)
}

const turn = (text: string, path: ReadonlyArray<string>, enabled: boolean): string | undefined => {
  const entry = nodeAt(text, path)
  if (entry?.type !== "object") return undefined
  const on = findNodeAtLocation(entry, ["enabled"])
  const off = findNodeAtLocation(entry, ["disabled"])
  if (on !== undefined) return replace(text, on.offset, on.offset + on.length, String(enabled))
  if (off !== undefined) return replace(text, off.offset, off.offset + off.length, String(!enabled))
  return insert(text, entry, "enabled", enabled, false)
}

// --- insert ---------------------------------------------------------------------------------------------------------

const insert = (text: string, object: Node, key: string, value: unknown, apart: boolean): string => {
  const children = object.children ?? []
  const last = children.at(-1)
  return last === undefined
    ? insertFirst(text, object, key, value, apart)
    : insertBehind(text, object, last, key, value, apart)
}

const insertBehind = (text: string, object: Node, last: Node, key: string, value: unknown, apart: boolean): string => {
  const end = last.offset + last.length
  const comma = commaBehind(text, end)
  const anchor = behindComments(text, comma === undefined ? end : comma + 1)
  const isLong = slice(text, object).includes("\n")
  const indent = startsLine(text, last.offset)
    ? indentAt(text, last.offset)
    : indentAt(text, object.offset) + unitOf(text)
  const space = isLong ? lineBreak(text, indent, apart) : apart ? "  " : isCompact(text, object) ? "" : " "
  const property =
    space + written(key, value, isLong ? { text, indent } : isCompact(text, object)) + (comma === undefined ? "" : ",")
  const head = comma === undefined ? `${text.slice(0, end)},${text.slice(end, anchor)}` : text.slice(0, anchor)
  return head + property + text.slice(anchor)
}

const insertFirst = (text: string, object: Node, key: string, value: unknown, apart: boolean): string => {
  const start = object.offset + 1
  const end = object.offset + object.length - 1
  const inner = text.slice(start, end)
  const outer = indentAt(text, object.offset)
  const indent = outer + unitOf(text)
  const property = written(key, value, { text, indent })
  if (inner === "" && !apart && apartness(text, object.parent) !== "none") {
    // keeps the mark that `apartness` reads, which the insertion would otherwise change
    const space = apartness(text, object.parent) === "space" ? " " : ""
    return replace(text, start, end, space + property)
  }
  if (inner === "") {
    return replace(text, start, end, `${lineBreak(text, indent, apart)}${property}${lineBreak(text, outer, false)}`)
  }
  const comments = inner.trimEnd()
  if (comments === "") return replace(text, start, start, (apart ? "  " : "") + property)
  const anchor = start + comments.length
  const isLong = text.slice(anchor, end).includes("\n")
  return replace(text, anchor, anchor, (isLong ? lineBreak(text, indent, apart) : apart ? "  " : " ") + property)
}

/** Renders a property on one line, or on several lines indented like the surrounding object. */
const written = (
  key: string,
  value: unknown,
  style: { readonly text: string; readonly indent: string } | boolean
): string => {
  if (typeof style === "boolean") {
    const compact = `${JSON.stringify(key)}:${JSON.stringify(value)}`
    return style ? compact : `${JSON.stringify(key)}: ${JSON.stringify(value)}`
  }
  const lines = JSON.stringify(value, null, unitOf(style.text)).split("\n")
  return `${JSON.stringify(key)}: ${lines.join(eolOf(style.text) + style.indent)}`
}

// --- remove ---------------------------------------------------------------------------------------------------------

const cut = (text: string, object: Node, property: Node, apart: boolean): string => {
  const siblings = object.children ?? []
  if (siblings.length === 1 && isAlone(text, object, property)) {
    return replace(text, object.offset + 1, object.offset + object.length - 1, "")
  }
  const previous = siblings[siblings.indexOf(property) - 1]
  const end = property.offset + property.length
  const comma = commaBehind(text, end)
  const behind = comma === undefined ? end : comma + 1
  // a comment on the same line belongs to the property
  const to = startsLine(text, property.offset) && !apart ? behindComments(text, behind) : behind
  const start = previous === undefined ? object.offset + 1 : previous.offset + previous.length
  const space = beginning(text, property.offset, apart)
  // the text after it must not become part of a line comment before it
  const from = isCommentEnd(text, start, space) && !/^\r?\n/.test(text.slice(to, to + 2)) ? property.offset : space
  if (comma !== undefined || previous === undefined) return replace(text, from, to, "")
  const separator = commaBehind(text, start)!
  return text.slice(0, separator) + text.slice(separator + 1, from) + text.slice(to)
}

/** Whether the property is surrounded by line ends only, as after an insertion into an empty object. */
const isAlone = (text: string, object: Node, property: Node): boolean => {
  const before = text.slice(object.offset + 1, property.offset)
  const after = text.slice(property.offset + property.length, object.offset + object.length - 1)
  return [before, after].every((space) => space.trim() === "" && space.includes("\n"))
}

/** Whether the object was inserted together with its only property: see `add`. */
const cameWith = (text: string, object: Node, property: Node): boolean => {
  const apart = apartness(text, object.parent)
  const isTight = property.offset === object.offset + 1 && property.length === object.length - 2
  return apart !== "none" && (isAlone(text, object, property) || (apart === "space" && isTight))
}

/** Whether an empty line or a second space is before the property. */
const apartness = (text: string, node: Node | undefined): "line" | "space" | "none" => {
  if (node?.type !== "property") return "none"
  const before = text.slice(Math.max(0, node.offset - 200), node.offset)
  if (/\n[ \t]*\r?\n[ \t]*$/.test(before)) return "line"
  return /\S {2}$/.test(before) ? "space" : "none"
}

/** Where the white space before an offset begins, including the end of the previous line if the offset starts a line. */
const beginning = (text: string, offset: number, apart: boolean): number => {
  const line = lineBefore(text, offset)
  return apart && line < offset && text[line] !== " " ? lineBefore(text, line) : line
}

/** Moves back over spaces and at most one line end. */
const lineBefore = (text: string, offset: number): number => {
  let at = offset
  while (text[at - 1] === " " || text[at - 1] === "\t") at -= 1
  if (text[at - 1] !== "\n") return at
  return text[at - 2] === "\r" ? at - 2 : at - 1
}

/** Whether a line comment ends at `at`. */
const isCommentEnd = (text: string, start: number, at: number): boolean => {
  const scanner = createScanner(text, false)
  scanner.setPosition(start)
  for (let kind = scanner.scan(); scanner.getTokenOffset() < at; kind = scanner.scan()) {
    if (kind === kinds.lineComment && scanner.getTokenOffset() + scanner.getTokenLength() === at) return true
  }
  return false
}

// --- format ---------------------------------------------------------------------------------------------------------

const replace = (text: string, from: number, to: number, by: string): string =>
  text.slice(0, from) + by + text.slice(to)

const slice = (text: string, { length, offset }: Node): string => text.slice(offset, offset + length)

const eolOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n")

/** The indentation of one level. */
const unitOf = (text: string): string => /\n([ \t]+)(?=["/])/.exec(text)?.[1] ?? "  "

const lineBreak = (text: string, indent: string, apart: boolean): string => eolOf(text).repeat(apart ? 2 : 1) + indent

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? ""

const startsLine = (text: string, offset: number): boolean =>
  /\n[ \t]*$/.test(text.slice(Math.max(0, offset - 200), offset))

const isCompact = (text: string, object: Node): boolean => !/[:,]\s/.test(slice(text, object))

/** The parser's `const enum` does not exist at run time. */
const kinds = {
  comma: 5 as SyntaxKind.CommaToken,
  lineComment: 12 as SyntaxKind.LineCommentTrivia,
  blockComment: 13 as SyntaxKind.BlockCommentTrivia,
  space: 15 as SyntaxKind.Trivia
}

/** The offset of the next comma, if only white space and comments are before it. */
const commaBehind = (text: string, offset: number): number | undefined => {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  return scanner.scan() === kinds.comma ? scanner.getTokenOffset() : undefined
}

/** The offset after the comments on the rest of the line. */
const behindComments = (text: string, offset: number): number => {
  const scanner = createScanner(text, false)
  scanner.setPosition(offset)
  let end = offset
  for (let kind = scanner.scan(); ; kind = scanner.scan()) {
    const isComment = kind === kinds.lineComment || kind === kinds.blockComment
    if (isComment) end = scanner.getTokenOffset() + scanner.getTokenLength()
    else if (kind !== kinds.space) return end
  }
}
