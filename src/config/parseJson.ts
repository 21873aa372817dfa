/**
 * JSON and JSONC: comments and commas at the end are allowed.
 */
import * as Either from "effect/Either"
import { getLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import type { Issue } from "../domain/Issue.js"
import { type Layer, showable } from "./Layer.js"
import type { Parsed } from "./parse.js"
import { placeOf, type Text } from "./Text.js"
import { branch, leaf, list, type Path, type Tree } from "./Tree.js"

/** One mistake makes many messages; the first ones are about the mistake. */
const maxIssues = 3

export const jsonOptions = { allowTrailingComma: true, allowEmptyContent: true }

export const parseJson = (text: Text, layer: Layer): Either.Either<Parsed, ReadonlyArray<Issue>> => {
  const errors: Array<ParseError> = []
  const root = parseTree(text.text, errors, jsonOptions)
  if (errors.length > 0) return Either.left(errors.slice(0, maxIssues).map(issueOf(text)))
  const duplicates: Array<Parsed["duplicates"][number]> = []
  const tree = (node: Node, path: Path): Tree => {
    const origin = { layer, path, offset: node.offset }
    const children = node.children ?? []
    if (node.type === "array")
      return list(
        children.map((item, index) => tree(item, [...path, index])),
        origin
      )
    if (node.type !== "object") return leaf(node.value, origin)
    const fields = new Map<string, Tree>()
    for (const property of children) {
      const [name, value] = property.children ?? []
      if (name === undefined || value === undefined) continue
      const key = String(name.value)
      if (fields.delete(key)) duplicates.push({ path: [...path, key], offset: name.offset })
      fields.set(key, tree(value, [...path, key]))
    }
    return branch(fields, origin)
  }
  const empty = branch(new Map(), { layer, path: [], offset: 0 })
  return Either.right({ tree: root === undefined ? empty : tree(root, []), duplicates })
}

const issueOf =
  (text: Text) =>
  ({ error, offset }: ParseError): Issue => {
    const code = printParseErrorCode(error)
    const [expected, found] = words[code] ?? ["JSON", "something else"]
    return { path: showable(pathTo(text, offset)), expected, found, ...placeOf(text, offset) }
  }

const pathTo = (text: Text, offset: number): Path => {
  try {
    // the last step of a key that is being typed is empty
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
