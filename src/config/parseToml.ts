/**
 * TOML. The parser tells values, the outline tells where they stand.
 */
import * as Either from "effect/Either"
import { parse as parseDocument, TomlError } from "smol-toml"
import type { Issue } from "../domain/Issue.js"
import type { Layer } from "./Layer.js"
import type { Parsed } from "./parse.js"
import { placeOf, type Text } from "./Text.js"
import { keyOf, outline } from "./tomlOutline.js"
import { branch, leaf, list, type Path, type Tree } from "./Tree.js"

export const parseToml = (text: Text, layer: Layer): Either.Either<Parsed, ReadonlyArray<Issue>> => {
  let value: unknown
  try {
    value = parseDocument(text.text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return Either.left([issueOf(text, error)])
  }
  const offsets = new Map<string, number>()
  for (const { offset, path } of outline(text.text)) {
    // a table that is written in parts is where its first part is
    for (let length = path.length; length > 0; length -= 1) {
      const key = keyOf(path.slice(0, length))
      if (offsets.has(key)) break
      offsets.set(key, offset)
    }
  }
  const tree = (value: unknown, path: Path, around: number): Tree => {
    const offset = offsets.get(keyOf(path)) ?? around
    const origin = { layer, path, offset }
    if (Array.isArray(value))
      return list(
        value.map((item, index) => tree(item, [...path, index], offset)),
        origin
      )
    if (typeof value !== "object" || value === null || value instanceof Date) return leaf(value, origin)
    const fields = Object.entries(value).map(([key, item]) => [key, tree(item, [...path, key], offset)] as const)
    return branch(new Map(fields), origin)
  }
  return Either.right({ tree: tree(value, [], 0), duplicates: [] })
}

/** The parser's message goes on with the lines around the place, and they may hold a secret. */
const issueOf = (text: Text, { column, line, message }: TomlError): Issue => {
  const [reason = ""] = message.split("\n")
  const found = reason.replace(/^Invalid TOML document: /, "")
  return { path: [], expected: "TOML", found: `a mistake: ${found}`, ...placeOf(text, undefined), line, column }
}
