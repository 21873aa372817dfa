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
import { branch, leaf, list, offsetOf, type Origin, origin, type Path, type Tree } from "./Tree.js"

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
  const tree = (value: unknown, path: Path, up: Origin | undefined): Tree => {
    // what has no place of its own is where the thing around it is
    const at = origin(layer, up, path.at(-1), offsets.get(keyOf(path)) ?? (up === undefined ? 0 : offsetOf(up)))
    if (Array.isArray(value)) {
      return list(
        value.map((item, index) => tree(item, [...path, index], at)),
        at
      )
    }
    if (typeof value !== "object" || value === null || value instanceof Date) return leaf(value, at)
    const fields = Object.entries(value).map(([key, item]) => [key, tree(item, [...path, key], at)] as const)
    return branch(new Map(fields), at)
  }
  return Either.right({ tree: tree(value, [], undefined), duplicates: [] })
}

/** The parser's message goes on with the lines around the place, and they may hold a secret. */
const issueOf = (text: Text, { column, line, message }: TomlError): Issue => {
  const [reason = ""] = message.split("\n")
  const found = reason.replace(/^Invalid TOML document: /, "")
  return { path: [], expected: "TOML", found: `a mistake: ${found}`, ...placeOf(text, undefined), line, column }
}
