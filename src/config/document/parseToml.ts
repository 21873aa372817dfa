/**
 * Parses TOML. The parser gives the values; the outline gives their places on demand.
 */
import * as Either from "effect/Either"
import { parse as parseDocument, TomlError } from "smol-toml"
import type { Issue } from "../../domain/Issue.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"
import type { ParsedDocument } from "./parseDocument.js"
import { placeOf, type DocumentText } from "./DocumentText.js"
import { keyOf, outline } from "./tomlOutline.js"
import { fromPlain, type Path } from "./Tree.js"

export const parseToml = (
  text: DocumentText,
  layer: ConfigLayer
): Either.Either<ParsedDocument, ReadonlyArray<Issue>> => {
  let value: unknown
  try {
    value = parseDocument(text.text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return Either.left([issueOf(text, error)])
  }
  let offsets: ReadonlyMap<string, number> | undefined
  const offset = (path: Path): number => {
    offsets ??= offsetsIn(text.text)
    // a value without a place of its own has that of its container
    for (let length = path.length; length > 0; length -= 1) {
      const found = offsets.get(keyOf(path.slice(0, length)))
      if (found !== undefined) return found
    }
    return 0
  }
  return Either.right({ tree: fromPlain(value, layer, offset), duplicates: [] })
}

/** The offsets of keys and tables. A table in several parts has the offset of its first part. */
const offsetsIn = (text: string): ReadonlyMap<string, number> => {
  const offsets = new Map<string, number>()
  for (const { offset, path } of outline(text)) {
    for (let length = path.length; length > 0; length -= 1) {
      const key = keyOf(path.slice(0, length))
      if (offsets.has(key)) break
      offsets.set(key, offset)
    }
  }
  return offsets
}

/** Drops the source lines that the parser appends to its message: they may hold a secret. */
const issueOf = (text: DocumentText, { column, line, message }: TomlError): Issue => {
  const [reason = ""] = message.split("\n")
  const found = reason.replace(/^Invalid TOML document: /, "")
  return { path: [], expected: "TOML", found: `a mistake: ${found}`, ...placeOf(text, undefined), line, column }
}
