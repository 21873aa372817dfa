/**
 * Parses JSON and JSONC: comments and trailing commas are allowed.
 */
import * as Either from "effect/Either"
import { getLocation, type ParseError, printParseErrorCode, visit } from "jsonc-parser"
import type { Issue } from "../../domain/Issue.js"
import { type ConfigLayer, showable } from "../layers/ConfigLayer.js"
import type { ParsedDocument } from "./parseDocument.js"
import { placeOf, type DocumentText } from "./DocumentText.js"
import {
  branch,
  find,
  fromPlain,
  leaf,
  list,
  offsetOf,
  type ValueOrigin,
  origin,
  type Path,
  type Tree
} from "./Tree.js"

/** One mistake causes many messages; only the first ones are about the mistake. */
const maxIssues = 3

export const jsonOptions = { allowTrailingComma: true, allowEmptyContent: true }

/** Strict JSON without duplicate keys is parsed by `JSON.parse`, and places are computed on demand. */
export const parseJson = (
  text: DocumentText,
  layer: ConfigLayer
): Either.Either<ParsedDocument, ReadonlyArray<Issue>> => {
  const value = parseStrictly(text.text)
  if (value === undefined) return parseLeniently(text, layer)
  let places: Tree | undefined
  const offset = (path: Path): number | undefined => {
    // the document starts where its text does: no second parse is needed for that
    if (path.length === 0) return text.text.search(/[[{"\w-]/)
    places ??= Either.getOrUndefined(parseLeniently(text, layer))?.tree
    return places && offsetOf(find(places, path).tree.origin)
  }
  return Either.right({ tree: fromPlain(value, layer, offset), duplicates: [] })
}

/** The value of a strict JSON text without duplicate keys; `undefined` for all other texts. */
const parseStrictly = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return keysIn(value) === keysWritten(text) ? value : undefined
  } catch {
    return undefined
  }
}

/** Counts the string literals that are followed by a colon. */
const keysWritten = (text: string): number => {
  let count = 0
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) count += 1
  return count
}

/** Counts the keys of a value, at all depths. */
const keysIn = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const parts = Object.values(value)
  return parts.reduce<number>((sum, part) => sum + keysIn(part), Array.isArray(value) ? 0 : parts.length)
}

/** An object or array that is being read. */
interface Open {
  readonly origin: ValueOrigin
  /** The items of an array. */
  readonly items: Array<Tree>
  /** The fields of an object; `undefined` for an array. */
  readonly fields: Map<string, Tree> | undefined
  key: string
  keyOffset: number
}

/** Parses with comments and trailing commas. */
const parseLeniently = (
  text: DocumentText,
  layer: ConfigLayer
): Either.Either<ParsedDocument, ReadonlyArray<Issue>> => {
  const errors: Array<ParseError> = []
  const duplicates: Array<ValueOrigin> = []
  const open: Array<Open> = []
  let root: Tree | undefined

  const originAt = (offset: number): ValueOrigin => {
    const around = open.at(-1)
    if (around === undefined) return origin(layer, undefined, undefined, offset)
    return origin(layer, around.origin, around.fields === undefined ? around.items.length : around.key, offset)
  }
  const put = (tree: Tree) => {
    const around = open.at(-1)
    if (around === undefined) root = tree
    else if (around.fields === undefined) around.items.push(tree)
    else {
      // the later value wins, and the key takes its position
      if (around.fields.delete(around.key)) {
        duplicates.push(origin(layer, around.origin, around.key, around.keyOffset))
      }
      around.fields.set(around.key, tree)
    }
  }
  const begin = (fields: Map<string, Tree> | undefined) => (offset: number) => {
    open.push({ origin: originAt(offset), items: [], fields, key: "", keyOffset: offset })
  }
  const end = () => {
    const done = open.pop()
    if (done === undefined) return
    put(done.fields === undefined ? list(done.items, done.origin) : branch(done.fields, done.origin))
  }

  visit(
    text.text,
    {
      onObjectBegin: (offset) => begin(new Map())(offset),
      onObjectProperty: (name, offset) => {
        const around = open.at(-1)
        if (around === undefined) return
        around.key = name
        around.keyOffset = offset
      },
      onObjectEnd: end,
      onArrayBegin: begin(undefined),
      onArrayEnd: end,
      onLiteralValue: (value, offset) => put(leaf(value, originAt(offset))),
      onError: (error, offset, length) => void errors.push({ error, offset, length })
    },
    jsonOptions
  )
  if (errors.length > 0) return Either.left(errors.slice(0, maxIssues).map(issueOf(text)))
  return Either.right({ tree: root ?? branch(new Map(), origin(layer, undefined, undefined, 0)), duplicates })
}

const issueOf =
  (text: DocumentText) =>
  ({ error, offset }: ParseError): Issue => {
    const code = printParseErrorCode(error)
    const [expected, found] = words[code] ?? ["JSON", "something else"]
    return { path: showable(pathTo(text, offset)), expected, found, ...placeOf(text, offset) }
  }

const pathTo = (text: DocumentText, offset: number): Path => {
  try {
    // the last step of an incomplete key is empty
    return getLocation(text.text, offset).path.filter((step) => step !== "")
  } catch {
    return []
  }
}

const words: Record<string, readonly [expected: string, found: string]> = {
  InvalidSymbol: ["a value", "a word that is none: texts stand in double quotes"],
  InvalidNumberFormat: ["a number", "something that is none"],
  PropertyNameExpected: ["a key in double quotes", "something else"],
  ValueExpected: ["a value", "none"],
  ColonExpected: ['":" after the key', "something else"],
  CommaExpected: ['","', "something else"],
  CloseBraceExpected: ['"}"', "the end, or something else"],
  CloseBracketExpected: ['"]"', "the end, or something else"],
  EndOfFileExpected: ["the end of the document", "something behind it"],
  InvalidCommentToken: ["no comment", "a comment"],
  UnexpectedEndOfComment: ["the end of the comment", "the end of the document"],
  UnexpectedEndOfString: ["the end of the text", "the end of the line"],
  UnexpectedEndOfNumber: ["a number", "its beginning"],
  InvalidUnicode: ["four hexadecimal digits", "something else"],
  InvalidEscapeCharacter: ["an escape that JSON knows", "another"],
  InvalidCharacter: ["a character that JSON allows", "another"]
}
